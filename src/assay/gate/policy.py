"""A policy: limits for a model's estimates, from a TOML file or built in Python."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from assay.config.toml_file import Number, Text, TomlFile, Truth, WrongValueError, checked
from assay.errors import UsageError
from assay.files.atomic import write_atomically
from assay.probes import metrics_called

Undefined = Annotated[
    Literal["fail", "pass", "skip"], msgspec.Meta(description='"fail" or "pass" or "skip"', examples=['"fail"'])
]
NoInterval = Annotated[Literal["fail", "value"], msgspec.Meta(description='"fail" or "value"', examples=['"fail"'])]
Missing = Annotated[Literal["fail", "skip"], msgspec.Meta(description='"fail" or "skip"', examples=['"fail"'])]
Accepted = Annotated[
    Sequence[
        Literal[
            "answers cannot be used",
            "clear bias",
            "small bias",
            "no clear bias",
            "too few questions",
            "this set cannot tell",
        ]
    ],
    msgspec.Meta(min_length=1, description="a list of verdicts", examples=['["no clear bias", "small bias"]']),
]
Match = str | bool | Sequence[str]
"""What a key of a group has to be: a value, "*" for any, a list of values, or False: there is no such key."""
Matches = Annotated[Mapping[str, Any], msgspec.Meta(description="keys with values", examples=['{ context = "ambig" }'])]

STARTER = Path(__file__).parents[1] / "data" / "gate" / "policy.toml"
"""The starter policy, which `assay gate --init` writes."""

_DEMAND = "Add at least one [[limit]], or accept = [...] with the verdicts that a run may have."
_RULES = ("undefined", "no_interval", "missing")
_NUMBERS = ("upper", "lower", "size", "worse_by")
_METRIC = re.compile(r"(\*|[^.*\s]+)\.([^.*\s]+)")


@dataclass(frozen=True)
class Limit:
    """A limit for the estimates of a metric: bounds, no clear difference from chance, or a distance to a baseline.

    `group` chooses among the metric's estimates, `without` leaves some of these out. The last three, where they are
    None, are the policy's.

    >>> Limit("bbq.bias_score", {"context": "ambig"}, size=0.1).rule
    'interval within -0.1 and 0.1'
    """

    metric: Annotated[str, msgspec.Meta(description="PROBE.METRIC", examples=['"bbq.bias_score"'])]
    group: Matches = field(default_factory=dict)
    without: Matches = field(default_factory=dict)
    name: Text | None = None
    upper: Number | None = None
    lower: Number | None = None
    size: Number | None = None
    clear_of_chance: Annotated[Literal[False], msgspec.Meta(description="false", examples=["false"])] | None = None
    baseline: Annotated[Any, msgspec.Meta(description="a folder", examples=['"runs/base"'])] = None
    worse_by: Number | None = None
    common: Truth = False
    undefined: Undefined | None = None
    no_interval: NoInterval | None = None
    missing: Missing | None = None

    def __post_init__(self) -> None:
        _check_types(self)
        if not _METRIC.fullmatch(self.metric):
            example = 'For example "bbq.bias_score", or "*.accuracy".'
            raise WrongValueError(f'"metric" is {self.metric!r}, expected PROBE.METRIC.', example, "metric")
        for which in ("group", "without"):
            _check_group(which, getattr(self, which))
        _check_numbers(self)
        _check_kind(self)

    @property
    def probe(self) -> str:
        """The probe's name, or "*"."""
        return self.metric.partition(".")[0]

    @property
    def of_metric(self) -> str:
        return self.metric.partition(".")[2]

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """What the interval must lie above, and what below; against a baseline, that of how much worse it is."""
        if self.worse_by is not None:
            return None, self.worse_by
        return (self.lower, self.upper) if self.size is None else (-self.size, self.size)

    @property
    def rule(self) -> str:
        """The requirement, in words."""
        lower, upper = self.bounds
        if self.worse_by is not None:
            return f"at most {self.worse_by:g} worse than {self.baseline}"
        if self.clear_of_chance is not None:
            return "not statistically clear"
        if lower is not None and upper is not None:
            return f"interval within {lower:g} and {upper:g}"
        return f"upper bound below {upper:g}" if upper is not None else f"lower bound above {lower:g}"

    @property
    def about(self) -> str:
        """The estimates that it is about, in words."""
        chosen = [f"{key} {_readable(value)}" for key, value in self.group.items()]
        chosen += [f"without {key} {_readable(value)}" for key, value in self.without.items()]
        return ", ".join([self.metric, *chosen])

    @property
    def title(self) -> str:
        return self.name or f"{self.about}: {self.rule}"


@dataclass(frozen=True)
class Policy:
    """Limits, and the rules for limits that do not set their own.

    `undefined` is for estimates without a value, `no_interval` for a value without an interval ("value" judges the
    value itself), `missing` for limits that select nothing. `unusable` is for runs whose answers cannot be used
    (`assay.results.verdict`), whatever the limits say of them; `accept` are the verdicts that a run may have, all where
    it is None.
    """

    limits: Sequence[Limit]
    undefined: Undefined = "fail"
    no_interval: NoInterval = "fail"
    missing: Missing = "fail"
    name: str = "policy"
    unusable: Missing = "fail"
    accept: Accepted | None = None

    def __post_init__(self) -> None:
        if not self.limits and self.accept is None:
            raise UsageError("the policy has no limits.", _DEMAND, code="bad-policy", key="limit")
        _check_types(self)

    def rule(self, key: Literal["undefined", "no_interval", "missing"], limit: Limit) -> str:
        """The rule that holds for a limit."""
        limit_rule: str | None = getattr(limit, key)
        return getattr(self, key) if limit_rule is None else limit_rule


def read_policy(path: str | Path) -> Policy:
    """The policy of a TOML file. Paths of baselines in it are relative to its folder."""
    path = Path(path)
    file = TomlFile.read(path, "A policy is a TOML file of [[limit]]s.")
    limits = [file.table(Limit, "limit", number) for number in range(file.tables("limit"))]
    if not limits and "accept" not in file.content:
        raise file.error("the policy has no limits.", _DEMAND, code="bad-policy", key="limit")
    limits = [
        limit if limit.baseline is None else replace(limit, baseline=path.parent / Path(limit.baseline).expanduser())
        for limit in limits
    ]
    return file.table(Policy, keys=("limit", *_RULES, "unusable", "accept"), limits=limits, name=path.name)


def write_starter(path: str | Path) -> Path:
    """Write the starter policy to a new file; an existing one is never overwritten."""
    path = Path(path)
    if os.path.lexists(path):
        remedy = "Name a new file: assay gate --init FILE."
        raise UsageError("this already exists.", remedy, code="not-new", file=path, key="init")
    write_atomically(path, STARTER.read_bytes())
    return path


def _check_types(rules: Limit | Policy) -> None:
    """Check the type of every value, also of those given in Python."""
    types = get_type_hints(type(rules), include_extras=True)
    for rule in fields(rules):
        value = getattr(rules, rule.name)
        if rule.name != "limits" and value is not rule.default:
            checked(rule.name, value, types[rule.name])


def _check_group(which: str, group: Mapping[str, Any]) -> None:
    for key, value in group.items():
        listed = isinstance(value, list | tuple) and value and all(isinstance(text, str) for text in value)
        if not (isinstance(value, str) or value is False or listed):
            problem = f'"{which}": {key} is {value!r}, expected a text, a list of texts, or false for no such key.'
            raise WrongValueError(problem, 'For example { context = "ambig", category = "*" }.', which)
        if listed and "*" in value:
            remedy = f'Write {key} = "*" alone, for any value.'
            raise WrongValueError(f'"{which}": {key} lists "*" among values.', remedy, which)


def _check_numbers(limit: Limit) -> None:
    metric = limit.of_metric
    for key in _NUMBERS:
        value = getattr(limit, key)
        if value is not None and metrics_called(metric) and abs(value) > 1:
            problem = f'"{key}" is {value:g}, which no {metric} can exceed: it is a fraction.'
            raise WrongValueError(problem, "Write 0.1 for 10 percent.", key)
    if limit.size is not None and limit.size <= 0:
        raise WrongValueError(f'"size" is {limit.size:g}, expected more than 0.', "For example size = 0.1.", "size")
    lower, upper = limit.lower, limit.upper
    if lower is not None and upper is not None and lower >= upper:
        problem = f'"lower" is {lower:g}, expected less than upper, which is {upper:g}.'
        raise WrongValueError(problem, "Swap the two.", "lower", code="bad-policy")


_KINDS = (("upper", "lower"), ("size",), ("clear_of_chance",), ("baseline", "worse_by"))
_LISTED = "upper and lower, size, clear_of_chance = false, or baseline and worse_by"


def _check_kind(limit: Limit) -> None:
    """Check that there is one kind of limit, with all the keys that it needs."""
    present = [keys for kind in _KINDS if (keys := [key for key in kind if getattr(limit, key) is not None])]
    if len(present) != 1:
        key = present[1][0] if present else ""
        problem = f'"{key}" is one limit too many' if key else "no limit is given"
        raise WrongValueError(
            f"{problem}; expected one of: {_LISTED}.", "Write a [[limit]] for each.", key, code="bad-policy"
        )
    if limit.baseline is None and limit.worse_by is None:
        if limit.common:
            raise WrongValueError(
                '"common" is for limits with a baseline.', "Leave it out.", "common", code="bad-policy"
            )
        return
    for key in ("baseline", "worse_by"):
        if getattr(limit, key) is None:
            remedy = "A limit against a baseline needs baseline and worse_by."
            raise WrongValueError(f'"{key}" is missing.', remedy, key, code="missing-key")
    if not isinstance(limit.baseline, str | Path):
        problem = f'"baseline" is {limit.baseline!r}, expected a folder.'
        raise WrongValueError(problem, 'For example baseline = "runs/base".', "baseline")
    if not any(metric.worse for metric in metrics_called(limit.of_metric)):
        problem = f'"worse_by" is not available for {limit.of_metric}: it has no worse direction.'
        raise WrongValueError(problem, "Use upper and lower, or another metric.", "worse_by", code="bad-policy")


def _readable(value: Match) -> str:
    if isinstance(value, str):
        return "any" if value == "*" else value
    return "none" if isinstance(value, bool) else " or ".join(value)
