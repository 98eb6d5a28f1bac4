"""Decodes JSON, TOML and Python's notation of unknown origin: every reason not to use a text is a ValueError.

Beyond what the decoders refuse, these are refused: numbers that are no float (10^400), texts that cannot be written as
UTF-8 (half a surrogate pair), deep nesting, and so many values that they would fill the memory.
"""

from __future__ import annotations

import ast
import json
import math
import tomllib
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

DEEPEST = 100
"""Objects and lists inside each other."""
_MOST_VALUES = 8_000_000
_MOST_DIGITS = 300
_LONGEST = 64 << 20
_LONGEST_TOML = 4 << 20
_LONGEST_PYTHON = 100_000
_TOO_DEEP = f"it is nested more than {DEEPEST} deep"

T = TypeVar("T")
Pairs = Callable[[list[tuple[str, Any]]], Any]


class TwiceError(ValueError):
    """A key that an object has twice; which of its values is meant is unknown."""

    def __init__(self, key: str) -> None:
        super().__init__(f'"{key}" appears twice in an object')
        self.key = key


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys must differ: for `pairs` of the functions below. Otherwise the last value wins."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise TwiceError(next(key for key in keys if keys.count(key) > 1))
    return value


def json_value(text: str | bytes, pairs: Pairs | None = None, *, mend: bool = False) -> Any:
    """The value of a JSON text.

    `pairs` makes objects. `mend` replaces halves of surrogate pairs, which are otherwise refused.

    >>> json_value('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
    if len(decoded) > _LONGEST:
        raise ValueError(f"more than {_LONGEST >> 20} MB")
    opened = decoded.count("[") + decoded.count("{")
    if opened + decoded.count(",") > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES:,} values")
    try:
        value = (_decoder(pairs) if pairs else _DECODER).decode(decoded)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if opened > DEEPEST:
        _require_flat(value)
    if _surrogates(decoded):
        rewritten = json.dumps(value, ensure_ascii=False)
        if mend:
            return _DECODER.decode(rewritten.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        _require_utf8(rewritten)
    return value


def json_typed(text: str | bytes, kind: type[T]) -> T:
    """The value of a JSON text as an object of a class whose fields have types; halves of surrogate pairs are replaced.

    >>> json_typed("[1, 2]", tuple[int, ...])
    (1, 2)
    """
    import msgspec  # not needed by every command

    return msgspec.convert(json_value(text, mend=True), kind)


def without_nan(value: Any) -> Any:
    """A decoded value with None in place of numbers that JSON cannot write.

    >>> without_nan({"a": [float("nan"), 1.5]})
    {'a': [None, 1.5]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    return [without_nan(inner) for inner in value] if isinstance(value, list) else value


def require_typed(value: Any, kind: Any) -> None:
    """Refuse a decoded value that is not of a class, or has a number that JSON cannot write (NaN)."""
    import msgspec

    msgspec.convert(value, kind)
    json.dumps(value, allow_nan=False)


def json_at(text: str, at: int, *, distinct: bool = False) -> tuple[Any, int]:
    """The value that begins at a place of a text, and the place after it. Its nesting is not checked.

    `distinct` refuses objects that have a key twice.
    """
    try:
        value, end = (_DISTINCT if distinct else _DECODER).raw_decode(text, at)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if _surrogates(text, at, end):
        _require_utf8(json.dumps(value, ensure_ascii=False))
    return value, end


def _surrogates(text: str, *span: int) -> bool:
    """Whether there may be halves of surrogate pairs."""
    return text.find("\\ud", *span) >= 0 or text.find("\\uD", *span) >= 0


def _require_utf8(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text has half a surrogate pair, which is not a character") from None


def python_value(source: str | ast.expr) -> Any:
    """The value of a text, or of a part of a parsed one, as Python writes numbers, texts, lists and dictionaries.

    >>> python_value("{0: ['a', None]}")
    {0: ['a', None]}
    """
    if isinstance(source, str) and len(source) > _LONGEST_PYTHON:
        raise ValueError(f"more than {_LONGEST_PYTHON:,} characters")
    try:
        with warnings.catch_warnings(action="ignore"):  # about backslashes in texts
            value = ast.literal_eval(source)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(str(error) or _TOO_DEEP) from None
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            _require_utf8(part)
        elif isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, int):
            _require_short(part)
        elif isinstance(part, float):
            _number(str(part))
    return value


def written_value(cell: str) -> Any:
    """The value written into a cell of a table, as JSON or as Python writes it; None if it is neither.

    >>> written_value("['a']"), written_value("a")
    (['a'], None)
    """
    for read in (json_value, python_value) if len(cell) <= _LONGEST_PYTHON else ():
        try:
            return read(cell)
        except ValueError:
            continue
    return None


def toml_value(text: str) -> dict[str, Any]:
    """The table of a TOML text."""
    if len(text) > _LONGEST_TOML:
        raise ValueError(f"more than {_LONGEST_TOML >> 20} MB")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    for level in _require_flat(table):
        for value in level:
            _require_short(value)
    return table


def _require_short(value: Any) -> None:
    if type(value) is int and value.bit_length() > _MOST_DIGITS * 3:
        raise ValueError(_too_long("a number"))


def _require_flat(value: Any) -> list[list[Any]]:
    """The values of every level; ValueError if there are too many levels."""
    levels = [[value]]
    while True:
        holders = [each for each in levels[-1] if type(each) in (dict, list)]
        if not holders:
            return levels
        if len(levels) > DEEPEST:
            raise ValueError(_TOO_DEEP)
        levels.append([inner for holder in holders for inner in (holder.values() if type(holder) is dict else holder)])


def whole(digits: str) -> int:
    """A whole number that can be a float, too.

    >>> whole("-12")
    -12
    """
    if len(digits) > _MOST_DIGITS:
        raise ValueError(_too_long(f"{digits[:20]}…"))
    return int(digits)


def whole_number(text: object, digits: int = 18) -> int | None:
    """The number that a text of digits is; None for anything else, and for more digits than these.

    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 5000)
    (12, None, None)
    """
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) <= digits else None


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:20]} is too large for a number")
    return value


def _too_long(subject: str) -> str:
    return f"{subject} has more than {_MOST_DIGITS} digits"


def _decoder(pairs: Pairs | None = None) -> json.JSONDecoder:
    return json.JSONDecoder(parse_int=whole, parse_float=_number, object_pairs_hook=pairs)


_DECODER, _DISTINCT = _decoder(), _decoder(once)
