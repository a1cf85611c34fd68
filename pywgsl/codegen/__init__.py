"""What is made of the intermediate representation: WGSL, NumPy, Python."""
