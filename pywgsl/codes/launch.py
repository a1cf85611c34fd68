"""E05: launches and devices."""

LAUNCH = r"""
E0501: a device refused the generated WGSL
pywgsl wrote something that the compiler of this device does not accept. That is a mistake of
pywgsl, or of the driver, and never of the kernel's author: please report it with the text of the
message. The line that it came from may be written in another way meanwhile.
wrong:
    (the line that the message shows)
right:
    (the same in other words; `kernel.wgsl()` shows what they become)
"""
