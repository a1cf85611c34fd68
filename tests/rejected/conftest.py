"""These files are read by test_rejected.py only."""

collect_ignore_glob = ["*.py"]
