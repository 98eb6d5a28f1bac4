"""What every Python that tests start imports first: see `_never_wait_for_the_disk` of tests/conftest.py."""

import os

os.fsync = os.fstat  # type: ignore[assignment]
