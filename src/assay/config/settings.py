"""Settings as users write them (`--set key=value`), defined by one dataclass for each purpose.

A class of settings is a frozen dataclass whose fields are made with `setting`; checks, `--help` and run.json all come
from it. A field is a text, one of several choices, a whole number (`least`), or a number (`least` and `real`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, make_dataclass
from typing import Any, TypeVar

from assay.errors import UsageError, suggest
from assay.files.decoding import whole_number

S = TypeVar("S")

RUN, SCORE, GENERATE = (f"See `assay {command} PROBE --help`." for command in ("run", "score", "generate"))
"""Where the settings of a command are explained; PROBE stands for the owner's name."""

RESAMPLES = 1000
"""How many resamples an interval rests on where no setting says so, and the default of these settings."""
MOST_DRAWS = 1_000_000


def setting(
    default: Any = None,
    help: str = "",
    *,
    choices: Sequence[str] = (),
    least: int | None = None,
    most: float = math.inf,
    real: bool = False,
    above: bool = False,
    name: str = "",
    value: str = "",
    example: str = "",
    names: str = "",
) -> Any:
    """A field of a class of settings.

    `choices` are the allowed texts. `least` and `most` bound a number: a whole number unless it is `real`; with `above`
    it must exceed `least`. `name` is what users write if that is not a Python name (class). `value` stands for the
    values in help texts (FILE, N), `example` is a good value for an error message, and `names` says that the setting
    names a "path" or a "model".
    """
    about = {"help": help, "choices": tuple(choices), "name": name, "value": value, "example": example, "names": names}
    return field(default=default, metadata={**about, "least": least, "most": most, "real": real, "above": above})


def read_settings(kind: type[S], given: Mapping[str, str], owner: str, *, remedy: str = RUN, **preset: Any) -> S:
    """The given settings, then those of a preset, then the defaults; `owner` is the probe, method or kind."""
    known = {shown_name(each): each for each in fields(kind)}  # type: ignore[arg-type]  # every kind is a dataclass
    values = dict(preset)
    for key, text in given.items():
        if key not in known:
            problem = f"{owner} has no setting {key!r}; it has {', '.join(sorted(known))}{suggest(key, known)}"
            raise UsageError(problem, remedy.replace("PROBE", owner), code="unknown-setting", key=key)
        values[known[key].name] = _value(key, text, known[key])
    return kind(**values)


def as_written(settings: Any) -> dict[str, str | int | None]:
    """All settings by the names that users write, for run.json."""
    return {shown_name(each): getattr(settings, each.name) for each in fields(settings)}


def names_of(kind: type, what: str) -> list[str]:
    """The settings that name a path, or a model."""
    return [shown_name(each) for each in fields(kind) if each.metadata["names"] == what]


def help_of(kind: type) -> list[str]:
    """One entry for each setting, as help texts list them: form=auto|span, word_lists=DIR, draws=1000."""
    return [f"{shown_name(each)}={_shown_value(each)}" for each in fields(kind)]


def explained(kind: type) -> list[tuple[str, str]]:
    """Every setting as `help_of` shows it, and what it means, with its default where the values do not show it."""
    return [(entry, _meaning(each)) for entry, each in zip(help_of(kind), fields(kind), strict=True)]


def _meaning(each: Field[Any]) -> str:
    said, default = each.metadata["help"], each.default
    return (
        said if default in (None, MISSING, "") or str(default) == _shown_value(each) else f"{said} (default: {default})"
    )


def some_of(kind: type, name: str, names: Sequence[str]) -> type:
    """A class with some of another's settings, for a command that takes only these."""
    chosen = [(each.name, each.type, field(default=each.default, metadata=each.metadata)) for each in fields(kind)]
    return make_dataclass(name, [each for each in chosen if each[0] in names], frozen=True)


def shown_name(each: Field[Any]) -> str:
    return each.metadata["name"] or each.name


def _shown_value(each: Field[Any]) -> str:
    about = each.metadata
    if about["choices"]:
        return "|".join(about["choices"])
    if about["value"]:
        return str(about["value"])
    return str(each.default) if each.default not in (None, MISSING) else "N" if about["least"] is not None else "…"


def _value(key: str, text: str, each: Field[Any]) -> str | int | float:
    choices, least = each.metadata["choices"], each.metadata["least"]
    if choices and text not in choices:
        problem = f"{key} is {text!r}, expected one of {', '.join(choices)}{suggest(text, choices)}"
        raise UsageError(problem, f"--set {key}=…", code="bad-setting", key=key)
    if least is None:
        return text
    value = _number(text, real=each.metadata["real"])
    if value is None or not least <= value <= each.metadata["most"] or (each.metadata["above"] and value == least):
        example = each.metadata["example"] or least
        problem = f"{key} is {text!r}, expected {_expected(each)}."
        raise UsageError(problem, f"--set {key}={example}", code="bad-setting", key=key)
    return value


def _number(text: str, *, real: bool) -> float | int | None:
    """The number in a text, or None; infinity does not count."""
    if not real:
        return whole_number(text)
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _expected(each: Field[Any]) -> str:
    least, most = each.metadata["least"], each.metadata["most"]
    what = "a number" if each.metadata["real"] else "a whole number"
    if most < math.inf:
        return f"{what} from {least:g} to {most:{'g' if each.metadata['real'] else ','}}"
    return f"{what} {'above' if each.metadata['above'] else 'from'} {least:g}"
