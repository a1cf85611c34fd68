"""Front ends: a Python function, or WGSL text, to the untyped tree and on to the typed IR."""
