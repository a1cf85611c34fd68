"""The entry point of `python -m pywgsl`."""

from pywgsl.commands.main import main

if __name__ == "__main__":
    raise SystemExit(main())
