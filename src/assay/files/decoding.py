"""Decodes JSON and TOML of unknown origin: every reason not to use a text is a ValueError.

Beyond what the decoders refuse, these are refused: numbers that are no float (10^400), texts that cannot be written as
UTF-8 (half a surrogate pair), deep nesting, and so many values that they would fill the memory.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

DEEPEST = 100
"""Objects and lists inside each other."""
_MOST_VALUES = 8_000_000
_MOST_DIGITS = 300
_LONGEST = 64 << 20
_LONGEST_TOML = 4 << 20
_TOO_DEEP = f"it is nested more than {DEEPEST} deep"


Pairs = Callable[[list[tuple[str, Any]]], Any]


def json_value(text: str | bytes, pairs: Pairs | None = None, *, mend: bool = False, halves: bool = False) -> Any:
    """The value of a JSON text.

    `pairs` makes objects. Of halves of surrogate pairs, `mend` replaces them and `halves` keeps them.

    >>> json_value('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    written = text if isinstance(text, str) else text.decode("utf-8-sig")
    if len(written) > _LONGEST:
        raise ValueError(f"more than {_LONGEST >> 20} MB")
    opened = written.count("[") + written.count("{")
    if opened + written.count(",") > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES:,} values")
    try:
        value = (_decoder(pairs) if pairs else _DECODER).decode(written)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if opened > DEEPEST:
        _require_flat(value)
    if not halves and _surrogates(written):
        again = json.dumps(value, ensure_ascii=False)
        if mend:
            return _DECODER.decode(again.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        _require_utf8(again)
    return value


def json_at(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at a place of a text, and the place after it. Its nesting is not checked."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if _surrogates(text, at, end):
        _require_utf8(json.dumps(value, ensure_ascii=False))
    return value, end


def _surrogates(text: str, *place: int) -> bool:
    """Whether there may be halves of surrogate pairs."""
    return text.find("\\ud", *place) >= 0 or text.find("\\uD", *place) >= 0


def _require_utf8(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text has half a surrogate pair, which is no character") from None


def toml_value(text: str) -> dict[str, Any]:
    """The table of a TOML text."""
    if len(text) > _LONGEST_TOML:
        raise ValueError(f"more than {_LONGEST_TOML >> 20} MB")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    for level in _require_flat(table):
        if any(type(each) is int and each.bit_length() > _MOST_DIGITS * 3 for each in level):
            raise ValueError(_too_long("a number"))
    return table


def _require_flat(value: Any) -> list[list[Any]]:
    """The values of every level; ValueError if there are too many levels."""
    levels = [[value]]
    while True:
        holders = [each for each in levels[-1] if type(each) in (dict, list)]
        if not holders:
            return levels
        if len(levels) > DEEPEST:
            raise ValueError(_TOO_DEEP)
        levels.append([inner for each in holders for inner in (each.values() if type(each) is dict else each)])


def whole(written: str) -> int:
    """A whole number that can be a float, too.

    >>> whole("-12")
    -12
    """
    if len(written) > _MOST_DIGITS:
        raise ValueError(_too_long(f"{written[:20]}…"))
    return int(written)


def _number(written: str) -> float:
    value = float(written)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{written[:20]} is too large for a number")
    return value


def _too_long(what: str) -> str:
    return f"{what} has more than {_MOST_DIGITS} digits"


def _decoder(pairs: Pairs | None = None) -> json.JSONDecoder:
    return json.JSONDecoder(parse_int=whole, parse_float=_number, object_pairs_hook=pairs)


_DECODER = _decoder()
