"""Which environment variables other programs get: none with a key to the program that runs strangers' chat templates,
and none with a secret to the workers of a cluster, which load strangers' models.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

_LIBRARIES = "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH"  # to find them
_WINDOWS = "SYSTEMROOT SYSTEMDRIVE WINDIR"  # without which nothing starts there
_FOLDERS = "TMPDIR TEMP TMP"
_LANGUAGE = "LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME"
_TIME = "TZ"  # a template may write the date
_PYTHON = "PYTHONHOME PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX"
_THREADS = "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS"
HARMLESS = frozenset(" ".join((_LIBRARIES, _WINDOWS, _FOLDERS, _LANGUAGE, _TIME, _PYTHON, _THREADS)).split())
"""Names of the variables that a program needs to start and to work as this one does."""

HUB_TOKENS = frozenset({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
"""Where huggingface_hub looks for the key to the hub."""
_SECRET_ENDINGS, _SECRET_PART = ("_API_KEY", "_TOKEN"), "_SECRET"
_RAY = "RAY_"
"""How variables of Ray itself begin; RAY_AUTH_TOKEN is what its processes know each other by."""


def harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a program without any key gets."""
    return {name: value for name, value in environment.items() if name.upper() in HARMLESS}


@dataclass(frozen=True)
class Secrets:
    """The variables that are withheld: the endpoint's key (`key_env`) and those whose name says that they are secret.

    With `hub`, a model is on the hub, and its token is not among them.

    >>> [name in Secrets("MY_WORD") for name in ("MY_WORD", "SOME_API_KEY", "AWS_SECRET_ACCESS_KEY", "HOME")]
    [True, True, True, False]
    >>> "HF_TOKEN" in Secrets(), "HF_TOKEN" in Secrets(hub=True)
    (True, False)
    """

    key_env: str = ""
    hub: bool = False

    def __contains__(self, name: str) -> bool:
        upper = name.upper()
        if self.key_env and name == self.key_env:
            return True
        if upper.startswith(_RAY) or (self.hub and upper in HUB_TOKENS):
            return False
        return upper.endswith(_SECRET_ENDINGS) or _SECRET_PART in upper

    def forget(self) -> dict[str, str]:
        """Remove them from this process's environment; returns what was removed."""
        return {name: os.environ.pop(name) for name in [*os.environ] if name in self}

    @contextmanager
    def withheld(self) -> Iterator[None]:
        """Programs that are started meanwhile do not get them."""
        removed = self.forget()
        try:
            yield
        finally:
            os.environ.update(removed)
