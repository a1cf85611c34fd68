"""Where kernels run: devices, arrays and launches, on a GPU through wgpu or on NumPy."""
