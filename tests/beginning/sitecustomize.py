"""What every Python that tests start imports first: see `_never_wait_for_the_disk` of tests/conftest.py."""

import os

from one_core import count_one_core

os.fsync = os.fstat  # type: ignore[assignment]
if "PYTEST_XDIST_WORKER" in os.environ:
    count_one_core()
