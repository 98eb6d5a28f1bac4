"""An endpoint's address and its key.

The key is read from the environment for each request and appears only in that request's header.
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from assay.errors import UsageError

KEY_ENV = "OPENAI_API_KEY"
_EXAMPLE = "For example --model api:MODEL@https://api.example.com/v1, or api:MODEL@http://localhost:8000/v1."


@dataclass(frozen=True)
class Address:
    """A model's name at an endpoint, the endpoint's normalised URL, and the variable that holds the key, if any."""

    model: str
    url: str
    key_env: str

    @staticmethod
    def of(rest: str, key_env: str | None = None) -> Address:
        """Parse NAME@URL, the part of a model's name after `api:`.

        >>> Address.of("org/llm@HTTPS://Example.com:443/v1/").url
        'https://example.com/v1'
        """
        named = re.fullmatch(r"(.+?)@(https?://.+)", rest, re.IGNORECASE)
        if not named:
            raise _wrong(f"api:{rest} does not name an endpoint; expected api:NAME@URL.")
        url = _normalised(named[2])
        if key_env is not None:
            if key_env and key_env not in os.environ:
                problem = f"--key-env is {key_env}, but this environment variable is not set."
                remedy = f"export {key_env}=…, or --key-env '' for an endpoint without a key."
                raise UsageError(problem, remedy, code="missing-key-env", key="key-env")
            return Address(named[1], url, key_env)
        # Nobody asked for a key to be sent: it never travels unencrypted to another machine.
        usual = KEY_ENV in os.environ and (url.startswith("https:") or is_local(url))
        return Address(named[1], url, KEY_ENV if usual else "")


def key_of(key_env: str) -> str:
    """The key; empty if the endpoint needs none."""
    key = os.environ.get(key_env, "").strip() if key_env else ""
    if key and not re.fullmatch(r"[!-~]+", key):
        problem = f"{key_env} does not hold a valid key: it has blanks, line breaks or unusual characters."
        raise UsageError(problem, "Set it again.", code="missing-key-env", key="key-env")
    return key


def is_local(url: str) -> bool:
    """Whether an address is on this machine.

    >>> is_local("http://localhost:8000/v1"), is_local("http://127.0.0.1/v1"), is_local("http://10.0.0.1/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _normalised(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _wrong(f"{url} is not an address ({error}).") from None
    if parts.username or parts.password or "@" in parts.netloc:
        raise _wrong("the address holds a user or a password, which would be stored with the run.")
    if parts.query or parts.fragment:
        raise _wrong(f"{url} has a part after ? or #, which could be a key and would be stored with the run.")
    if not parts.hostname:
        raise _wrong(f"{url} names no host.")
    default_port = {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    authority = host if port in (None, default_port) else f"{host}:{port}"
    return f"{parts.scheme}://{authority}{parts.path.rstrip('/')}"


def _wrong(problem: str) -> UsageError:
    return UsageError(problem, _EXAMPLE, code="bad-address", key="model")
