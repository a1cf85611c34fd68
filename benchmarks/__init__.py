"""What pywgsl costs, always beside what it replaces: `python -m benchmarks --help`."""
