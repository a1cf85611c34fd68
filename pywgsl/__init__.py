"""pywgsl: a kernel language inside Python that compiles to WGSL and runs on any GPU or on NumPy."""
