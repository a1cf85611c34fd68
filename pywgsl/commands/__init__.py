"""The command line: `pywgsl …`, or `python -m pywgsl …`."""
