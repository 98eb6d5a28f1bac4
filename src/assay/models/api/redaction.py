"""Removes the key from what a server sends back, so that it is neither stored nor shown.

Only texts change: the names of fields, numbers and the structure of a reply never do, because the parser needs them. A
key of fewer than 16 characters stays, since such a key ("token", "A") can be a word of any answer; the user is warned.
"""

from __future__ import annotations

import base64
import re
import warnings
from typing import Any

SHORTEST = 16
"""The fewest characters of a key that is removed."""
MARK = "[key]"
"""What stands in the key's place."""

_warned: set[str] = set()
"""Environment variables with a short key that the user was warned of."""


class Redaction:
    """Replaces a key in texts, however it is written: in another letter case, percent-encoded, escaped, hex, base64."""

    def __init__(self, key: str) -> None:
        self._shortest = len(key)
        self._pattern = re.compile(_pattern(key)) if len(key) >= SHORTEST else None

    def text(self, text: str) -> str:
        """The text without the key."""
        if self._pattern is None or len(text) < self._shortest:
            return text
        changed = 1
        while changed:  # what stands on both sides of a removed key may form the key again
            text, changed = self._pattern.subn(MARK, text)
        return text

    def value(self, value: Any) -> Any:
        """Decoded JSON whose texts are without the key, and which is otherwise the same."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self.value(inner) for name, inner in value.items()}
        return [self.value(inner) for inner in value] if isinstance(value, list) else value


def warn_if_short(key: str, key_env: str) -> None:
    """Warn once of a key that is not removed from replies; the warning names its environment variable only."""
    if key and len(key) < SHORTEST and key_env not in _warned:
        _warned.add(key_env)
        problem = f"{key_env} has fewer than {SHORTEST} characters, so it could be a word of an answer"
        warnings.warn(f"{problem}: if the server repeats this key, it is stored and shown.", stacklevel=3)


def _pattern(key: str) -> str:
    raw = "".join(map(_in_any_spelling, key))
    as_hex = "".join(map(_in_any_case, key.encode().hex()))
    return "|".join((raw, as_hex, *(_of_base64(key.encode(), before) for before in range(3))))


def _of_base64(key: bytes, before: int) -> str:
    """The key within a longer text in base64, after so many bytes modulo 3, without digits that neighbours share."""
    encoded = base64.b64encode(bytes(before) + key).decode()
    first, end = -(-before * 8 // 6), (before + len(key)) * 8 // 6
    twins = {"+": f"(?:{_exactly('+')}|-)", "/": f"(?:{_exactly('/')}|_)"}  # the second is of the alphabet for URLs
    return "".join(twins.get(digit, digit) for digit in encoded[first:end])


def _in_any_spelling(letter: str) -> str:
    """A letter in either case, as it is or escaped: for URLs (also twice), JSON, programs or HTML."""
    return f"(?:{'|'.join(_exactly(spelling) for spelling in sorted({letter.lower(), letter.upper()}))})"


def _exactly(letter: str) -> str:
    code = _in_any_case(f"{ord(letter):02x}")
    escaped = rf"%(?:25)?{code}|\\{{1,4}}(?:u00|x){code}|&#(?:[xX]0{{0,4}}{code}|0{{0,4}}{ord(letter)});"
    plain = r"\\{1,2}" if letter == "\\" else rf"\\{{0,4}}{re.escape(letter)}"
    return f"{plain}|{escaped}"


def _in_any_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)
