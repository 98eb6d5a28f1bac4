"""`python -m assay` is `assay`: the command line, which may be stopped before it is imported."""

import sys


def main() -> int:
    """Run a command; returns the exit code."""
    try:
        from assay.cli import main

        return main()
    except KeyboardInterrupt:
        print("assay: stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
