"""Numbers and table cells as text for people; nothing here is about a particular probe."""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence

from assay.results.findings import Cell, Estimate

UNDEFINED = "–"
LONGEST = 60  # characters of a name that a terminal shows; the tables have the whole name

_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, lone surrogates, line separators


_AT_ENDPOINT = re.compile(r"api:(.+?)@(https?://.+)", re.IGNORECASE | re.DOTALL)
_ABSOLUTE = re.compile(r"(?<![^=:,])(?:/(?!/)|[A-Za-z]:\\)(?:[^/\\,]+[/\\])*([^/\\,]*)")


def without_folders(command: str) -> str:
    """A command, or a model's name, for others to read: of absolute paths only the last part is left.

    >>> without_folders("assay run bbq --model hf:/home/ann/bert --set texts=/data/t.jsonl --out '/my runs/a b'")
    "assay run bbq --model hf:./bert --set texts=./t.jsonl --out './a b'"
    >>> without_folders("assay run bbq --model api:m@http://localhost:8080/v1 --out runs/a")
    'assay run bbq --model api:m@http://localhost:8080/v1 --out runs/a'
    """
    try:
        words = shlex.split(command)
    except ValueError:  # it is no command line
        words = command.split()
    shortened = [_ABSOLUTE.sub(r"./\1", word) for word in words]
    return command if shortened == words else shlex.join(shortened)


def at_endpoint(model: str) -> tuple[str, str] | None:
    """The name of a model at an endpoint, and the endpoint's address; None for other models.

    >>> at_endpoint("api:org/llm@http://localhost:8080/v1"), at_endpoint("hf:org/llm")
    (('org/llm', 'http://localhost:8080/v1'), None)
    """
    named = _AT_ENDPOINT.fullmatch(model)
    return (named[1], named[2]) if named else None


def format_number(value: float | None) -> str:
    """A number with three decimals, or with two significant digits if three decimals would show fewer.

    >>> format_number(0.1234), format_number(-0.00321), format_number(0.0000214), format_number(0), format_number(None)
    ('0.123', '-0.0032', '0.000021', '0.000', '–')
    """
    if value is None:
        return UNDEFINED
    if value == 0:
        return "0.000"
    first_digit = -math.floor(math.log10(abs(value)))  # 1 for 0.1…, 2 for 0.01…
    return f"{value:.1e}" if first_digit > 6 else f"{value:.{max(3, first_digit + 1)}f}"


def format_fixed(value: float | None) -> str:
    """A number with three decimals, so that a column lines up.

    >>> format_fixed(0.1234), format_fixed(-0.0001), format_fixed(None)
    ('0.123', '0.000', '–')
    """
    return UNDEFINED if value is None else f"{round(value, 3) + 0.0:.3f}"


def format_fixed_interval(low: float | None, high: float | None) -> str:
    """
    >>> format_fixed_interval(-0.1, 0.25), format_fixed_interval(None, None)
    ('-0.100 to 0.250', '–')
    """
    return UNDEFINED if low is None or high is None else f"{format_fixed(low)} to {format_fixed(high)}"


def format_interval(low: float | None, high: float | None) -> str:
    """An interval in words; it may wrap over two lines.

    >>> format_interval(-0.1, 0.25), format_interval(None, None)
    ('-0.100 to 0.250', '–')
    """
    return UNDEFINED if low is None or high is None else f"{format_number(low)} to {format_number(high)}"


def format_estimate_interval(estimate: Estimate) -> str:
    """The interval of an estimate, after the number that it belongs to if that is not its value.

    >>> format_estimate_interval(Estimate("mu", {}, 0.3, 0.0, 0.2, corrected=0.1))
    '0.100 (0.000 to 0.200)'
    >>> format_estimate_interval(Estimate("mu", {}, 0.3))
    '–'
    """
    between = format_interval(estimate.low, estimate.high)
    return between if estimate.corrected is None else f"{format_number(estimate.corrected)} ({between})"


def format_share(value: float | None) -> str:
    """A share or a difference of shares as a percentage, with enough decimals to distinguish it from 0 and 100.

    >>> [format_share(value) for value in (0.411, -0.0139, 0.000348, 0.9999, 0, None)]
    ['41.1%', '-1.4%', '0.035%', '99.99%', '0%', '–']
    """
    if value is None:
        return UNDEFINED
    hundred = 100 * value
    if hundred in (-100, 0, 100):
        return f"{hundred:.0f}%"
    least = max(1, 1 - math.floor(math.log10(abs(hundred))))
    rounded = (f"{hundred:.{decimals}f}" for decimals in range(least, 9))
    return next((text for text in rounded if abs(float(text)) != 100), f"{hundred:.1e}") + "%"


def format_share_interval(low: float | None, high: float | None) -> str:
    """
    >>> format_share_interval(0.326, 0.514), format_share_interval(None, None)
    ('32.6% to 51.4%', '–')
    """
    return UNDEFINED if low is None or high is None else f"{format_share(low)} to {format_share(high)}"


def format_share_points(difference: float) -> str:
    """A difference of two shares.

    >>> format_share_points(0.0139), format_share_points(0.01), format_share_points(0)
    ('1.4 percentage points', '1.0 percentage points', '0 percentage points')
    """
    return f"{format_share(difference).removesuffix('%')} percentage points"


def format_p(value: float | None) -> str:
    """A p- or q-value; "<0.001" below a thousandth.

    >>> format_p(0.0004), format_p(0.0321), format_p(None)
    ('<0.001', '0.032', '–')
    """
    if value is None:
        return UNDEFINED
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def format_p_equals(value: float | None) -> str:
    """A probability after its letter: "= 0.032" or "< 0.001".

    >>> format_p_equals(0.0321), format_p_equals(0.0004)
    ('= 0.032', '< 0.001')
    """
    text = format_p(value)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def format_count(value: int) -> str:
    return f"{value:,}"


def percent(level: float) -> str:
    """A confidence level.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{level * 100:.6g}%"


def plural(amount: int, one: str, many: str = "") -> str:
    """An amount with its noun.

    >>> plural(1, "row"), plural(1200, "row"), plural(2, "is", "are")
    ('1 row', '1,200 rows', '2 are')
    """
    return f"{format_count(amount)} {one if amount == 1 else many or one + 's'}"


def first_and_more(texts: Sequence[str], most: int) -> list[str]:
    """The first texts, and how many more there are.

    >>> first_and_more(["a", "b", "c"], 3), first_and_more(["a", "b", "c"], 1)
    (['a', 'b', 'c'], ['a', '2 more'])
    """
    return [*texts[:most], *([f"{len(texts) - most} more"] if len(texts) > most else [])]


def cell(row: Mapping[str, Cell], column: str) -> str:
    """A cell of a table as text; empty if it or its column is missing."""
    value = row.get(column)
    return "" if value is None else str(value)


def escape_control_characters(text: str) -> str:
    r"""Text with everything that controls a terminal (escape codes, line breaks, direction marks) written out.

    >>> escape_control_characters("a\x1b[31mb\n"), escape_control_characters("ab\u202ec")
    ('a\\x1b[31mb\\n', 'ab\\u202ec')
    """
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in _TURNING or unicodedata.category(character) in _INVISIBLE:
        return character.encode("unicode_escape").decode("ascii")
    return character


def clipped(text: str, longest: int = LONGEST) -> str:
    """Text cut to a length that fits a table.

    >>> clipped("abcdef", 4), clipped("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"
