"""A policy: limits that a model's estimates must keep, from a TOML file or built in Python."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from assay.direction import badness
from assay.errors import DataError, UsageError
from assay.report.words import METRICS
from assay.toml_file import read_toml

Undefined = Literal["fail", "pass", "skip"]
NoInterval = Literal["fail", "value"]
Missing = Literal["fail", "skip"]
Match = str | bool | Sequence[str]
"""What a key of a group has to be: a value, "*" for any, a list of values, or False: there is no such key."""

_RULES: Mapping[str, tuple[str, ...]] = {
    "undefined": get_args(Undefined),
    "no_interval": get_args(NoInterval),
    "missing": get_args(Missing),
}
_NUMBERS = ("upper", "lower", "size", "worse_by")
_METRIC = re.compile(r"(\*|[^.*\s]+)\.([^.*\s]+)")


@dataclass(frozen=True)
class Limit:
    """What the estimates of a metric must keep: bounds, no clear difference from chance, or a distance to a baseline.

    `group` chooses among the metric's estimates, `without` leaves some of these out. The last three, where they are
    None, are the policy's.

    >>> Limit("bbq.bias_score", {"context": "ambig"}, size=0.1).rule
    'interval within -0.1 and 0.1'
    """

    metric: str
    group: Mapping[str, Match] = field(default_factory=dict)
    without: Mapping[str, Match] = field(default_factory=dict)
    name: str | None = None
    upper: float | None = None
    lower: float | None = None
    size: float | None = None
    clear_of_chance: bool | None = None
    baseline: str | Path | None = None
    worse_by: float | None = None
    common: bool = False
    undefined: Undefined | None = None
    no_interval: NoInterval | None = None
    missing: Missing | None = None

    def __post_init__(self) -> None:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        _check_metric(given["metric"])
        _check_groups(given)
        _check_numbers(given, self.of_metric)
        _check_kind(given, self.of_metric)
        _check_rules({key: given[key] for key in _RULES if given[key] is not None})

    @property
    def probe(self) -> str:
        """The probe's name, or "*"."""
        return self.metric.partition(".")[0]

    @property
    def of_metric(self) -> str:
        return self.metric.partition(".")[2]

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """What the interval must lie above, and what below."""
        return (self.lower, self.upper) if self.size is None else (-self.size, self.size)

    @property
    def rule(self) -> str:
        """What is demanded, in words."""
        lower, upper = self.bounds
        if self.worse_by is not None:
            return f"at most {self.worse_by:g} worse than {self.baseline}"
        if self.clear_of_chance is not None:
            return "not clear of chance"
        if lower is not None and upper is not None:
            return f"interval within {lower:g} and {upper:g}"
        return f"upper bound below {upper:g}" if upper is not None else f"lower bound above {lower:g}"

    @property
    def about(self) -> str:
        """The estimates that it is about, in words."""
        chosen = [f"{key} {_said(value)}" for key, value in self.group.items()]
        chosen += [f"without {key} {_said(value)}" for key, value in self.without.items()]
        return ", ".join([self.metric, *chosen])

    @property
    def title(self) -> str:
        return self.name or f"{self.about}: {self.rule}"


@dataclass(frozen=True)
class Policy:
    """Limits, and the rules for those of them that have none of their own.

    `undefined` is for estimates without a value, `no_interval` for a value without an interval ("value" judges the
    value itself), `missing` for limits that select nothing.
    """

    limits: Sequence[Limit]
    undefined: Undefined = "fail"
    no_interval: NoInterval = "fail"
    missing: Missing = "fail"
    name: str = "policy"

    def __post_init__(self) -> None:
        if not self.limits:
            raise UsageError("the policy has no limit.", "Add at least one [[limit]].")
        _check_rules({key: getattr(self, key) for key in _RULES})

    def rule(self, key: Literal["undefined", "no_interval", "missing"], limit: Limit) -> str:
        """The rule that holds for a limit."""
        own: str | None = getattr(limit, key)
        return getattr(self, key) if own is None else own


def read_policy(path: str | Path) -> Policy:
    """The policy of a TOML file. Paths of baselines in it are relative to its folder."""
    path = Path(path)
    text, content = read_toml(
        path, name_it="Name the policy's TOML file.", what_it_is="A policy is a TOML file of [[limit]]s."
    )
    lines = _Lines(text)
    _check_keys(content, ("limit", *_RULES), path, lines)
    tables = content.get("limit", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DataError('"limit" is no list of tables.', "Begin each limit with [[limit]].", file=path)
    limits = [_read_limit(table, number, path, lines) for number, table in enumerate(tables)]
    try:
        return Policy(limits, **{key: content[key] for key in _RULES if key in content}, name=path.name)
    except UsageError as error:
        raise DataError(error.problem, error.remedy, file=path, line=lines.of_key(_key_in(error.problem))) from None


def _read_limit(table: Mapping[str, Any], number: int, path: Path, lines: _Lines) -> Limit:
    _check_keys(table, [each.name for each in fields(Limit)], path, lines, number)
    given = dict(table)
    if isinstance(given.get("baseline"), str):
        given["baseline"] = path.parent / Path(given["baseline"]).expanduser()
    try:
        if "metric" not in given:
            raise UsageError('the limit has no "metric".', 'For example metric = "bbq.bias_score".')
        return Limit(**given)
    except UsageError as error:
        line = lines.of_key(_key_in(error.problem), number)
        raise DataError(f"limit {number + 1}: {error.problem}", error.remedy, file=path, line=line) from None


def _key_in(problem: str) -> str | None:
    """The key that a message is about: the first that it quotes."""
    quoted = re.search(r'"(\w+)"', problem)
    return quoted[1] if quoted else None


@dataclass(frozen=True)
class _Lines:
    """Where things stand in the file, which the TOML reader does not tell."""

    text: str

    def of_key(self, key: str | None, limit: int | None = None) -> int | None:
        """The line of a key of the policy or of a limit, else of the limit itself; None where that is unsure."""
        lines = self.text.splitlines()
        heads = [place for place, line in enumerate(lines, 1) if re.match(r"\s*\[\[\s*limit\s*\]\]", line)]
        written = tomllib.loads(self.text).get("limit", [])
        if not isinstance(written, list) or len(heads) != len(written):
            return None
        first, last = (0, heads[0] - 1 if heads else len(lines)) if limit is None else (heads[limit], len(lines))
        if limit is not None and limit + 1 < len(heads):
            last = heads[limit + 1] - 1
        named = re.compile(rf"""\s*(\[limit\.)?["']?{re.escape(key)}["']?\s*[=.\]]""") if key else None
        found = (place for place in range(first + 1, last + 1) if named and named.match(lines[place - 1]))
        return next(found, first or None)


def _check_keys(
    table: Mapping[str, Any], known: Sequence[str], path: Path, lines: _Lines, limit: int | None = None
) -> None:
    for key in table:
        if key not in known:
            where = "" if limit is None else f"limit {limit + 1}: "
            raise DataError(
                f'{where}unknown key "{key}"{near(key, known)}',
                f"The keys are {', '.join(known)}.",
                file=path,
                line=lines.of_key(key, limit),
            )


def near(name: str, known: Collection[str]) -> str:
    """The end of a sentence about an unknown name: what may have been meant.

    >>> near("uper", ["upper", "lower"]), near("x", ["upper"])
    ('; did you mean "upper"?', '.')
    """
    close = difflib.get_close_matches(name, sorted(known), n=1) or [
        each for each in sorted(known) if each.lower() == name.lower()
    ]
    return f'; did you mean "{close[0]}"?' if close else "."


def _check_metric(metric: object) -> None:
    if not isinstance(metric, str) or not _METRIC.fullmatch(metric):
        raise UsageError(
            f'"metric" is {metric!r}, expected PROBE.METRIC.', 'For example "bbq.bias_score", or "*.accuracy".'
        )


def _check_groups(given: Mapping[str, Any]) -> None:
    for which in ("group", "without"):
        group = given[which]
        if not isinstance(group, Mapping):
            raise UsageError(
                f'"{which}" is {group!r}, expected keys with values.', 'For example { context = "ambig" }.'
            )
        for key, value in group.items():
            listed = isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value)
            if not (isinstance(value, str) or value is False or listed):
                raise UsageError(
                    f'"{which}": {key} is {value!r}, expected a text, a list of texts, or false for no such key.',
                    'For example { context = "ambig", category = "*" }.',
                )
            if listed and "*" in value:
                raise UsageError(
                    f'"{which}": {key} lists "*" among values.', f'Write {key} = "*" alone, for any value.'
                )
    if given["name"] is not None and not (isinstance(given["name"], str) and given["name"].strip()):
        raise UsageError(
            f'"name" is {given["name"]!r}, expected a text.', "Leave it out, or say what the limit is for."
        )


def _check_numbers(given: Mapping[str, Any], metric: str) -> None:
    for key in _NUMBERS:
        value = given[key]
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UsageError(f'"{key}" is {value!r}, expected a number.', f"For example {key} = 0.1.")
        if metric in METRICS and abs(value) > 1:
            raise UsageError(
                f'"{key}" is {value:g}, which no {metric} can exceed: it is a fraction.', "Write 0.1 for 10 percent."
            )
    if given["size"] is not None and given["size"] <= 0:
        raise UsageError(f'"size" is {given["size"]:g}, expected more than 0.', "For example size = 0.1.")
    lower, upper = given["lower"], given["upper"]
    if lower is not None and upper is not None and lower >= upper:
        raise UsageError(f'"lower" is {lower:g}, expected less than upper, which is {upper:g}.', "Exchange the two.")


_KINDS = "upper and lower, size, clear_of_chance = false, or baseline and worse_by"


def _check_kind(given: Mapping[str, Any], metric: str) -> None:
    kinds = [("upper", "lower"), ("size",), ("clear_of_chance",), ("baseline", "worse_by")]
    present = [kind for kind in kinds if any(given[key] is not None for key in kind)]
    if len(present) != 1:
        what = "no limit is given" if not present else f'"{_first(given, present[1])}" is one limit too many'
        raise UsageError(f"{what}; expected one of: {_KINDS}.", "Write a [[limit]] for each.")
    if given["clear_of_chance"] is not None and given["clear_of_chance"] is not False:
        raise UsageError(f'"clear_of_chance" is {given["clear_of_chance"]!r}.', "It can only be false.")
    if not isinstance(given["common"], bool):
        raise UsageError(f'"common" is {given["common"]!r}, expected true or false.', "common = true")
    if present[0] != kinds[3]:
        if given["common"]:
            raise UsageError('"common" is for limits with a baseline.', "Leave it out.")
        return
    for key in kinds[3]:
        if given[key] is None:
            raise UsageError(f'"{key}" is missing.', "A limit against a baseline needs baseline and worse_by.")
    if not isinstance(given["baseline"], str | Path) or not str(given["baseline"]):
        raise UsageError(
            f'"baseline" is {given["baseline"]!r}, expected a folder.', 'For example baseline = "runs/base".'
        )
    if badness(metric) is None:
        raise UsageError(
            f'"worse_by": of {metric} it is not known which direction is worse.',
            "Use upper and lower, or a metric such as " + ", ".join(("accuracy", "bias_score", "mu")) + ".",
        )


def _first(given: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next(key for key in keys if given[key] is not None)


def _check_rules(given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if not isinstance(value, str) or value not in _RULES[key]:
            said = " or ".join(f'"{each}"' for each in _RULES[key])
            raise UsageError(f'"{key}" is {value!r}, expected {said}.', f'{key} = "{_RULES[key][0]}"')


def _said(value: Match) -> str:
    if isinstance(value, str):
        return "any" if value == "*" else value
    return "none" if isinstance(value, bool) else " or ".join(value)
