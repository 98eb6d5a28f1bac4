"""`python -m assay` is `assay`: the command line, which may be stopped before it is imported."""

import sys


def main() -> int:
    """Run a command; returns the exit code."""
    try:
        from assay.cli import main

        return main()
    except KeyboardInterrupt as stopped:  # before a command begins, or after its end
        print("assay: stopped.", file=sys.stderr)
        return 128 + int(getattr(stopped, "by", 2))  # the signal; 2 is Ctrl-C's


if __name__ == "__main__":
    sys.exit(main())
