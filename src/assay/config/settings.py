"""Settings as users write them (`--set key=value`), defined by one dataclass for each purpose.

A class of settings is a frozen dataclass whose fields are made with `setting`; checks, `--help` and run.json all come
from it. A field is a text, one of several choices, a whole number (`least`), or a number (`least` and `real`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, make_dataclass
from dataclasses import field as dataclass_field
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
    return dataclass_field(
        default=default, metadata={**about, "least": least, "most": most, "real": real, "above": above}
    )


def read_settings(kind: type[S], texts: Mapping[str, str], owner: str, *, remedy: str = RUN, **preset: Any) -> S:
    """The given settings, then those of a preset, then the defaults; `owner` is the probe, method or kind."""
    fields_by_name = {shown_name(field): field for field in fields(kind)}  # type: ignore[arg-type]  # it is a dataclass
    values = dict(preset)
    for key, text in texts.items():
        if key not in fields_by_name:
            names = ", ".join(sorted(fields_by_name))
            problem = f"{owner} has no setting {key!r}; it has {names}{suggest(key, fields_by_name)}"
            raise UsageError(problem, remedy.replace("PROBE", owner), code="unknown-setting", key=key)
        values[fields_by_name[key].name] = _value(key, text, fields_by_name[key])
    return kind(**values)


def as_written(settings: Any) -> dict[str, str | int | None]:
    """All settings by the names that users write, for run.json."""
    return {shown_name(field): getattr(settings, field.name) for field in fields(settings)}


def names_of(kind: type, thing: str) -> list[str]:
    """The settings that name a path, or a model."""
    return [shown_name(field) for field in fields(kind) if field.metadata["names"] == thing]


def help_of(kind: type) -> list[str]:
    """One entry for each setting, as help texts list them: form=auto|span, word_lists=DIR, draws=1000."""
    return [f"{shown_name(field)}={_shown_value(field)}" for field in fields(kind)]


def explained(kind: type) -> list[tuple[str, str]]:
    """Every setting as `help_of` shows it, and what it means, with its default where the values do not show it."""
    return [(entry, _meaning(field)) for entry, field in zip(help_of(kind), fields(kind), strict=True)]


def _meaning(field: Field[Any]) -> str:
    description, default = field.metadata["help"], field.default
    is_shown = default in (None, MISSING, "") or str(default) == _shown_value(field)
    return description if is_shown else f"{description} (default: {default})"


def some_of(kind: type, name: str, names: Sequence[str]) -> type:
    """A class with some of another's settings, for a command that takes only these."""
    chosen = [
        (field.name, field.type, dataclass_field(default=field.default, metadata=field.metadata))
        for field in fields(kind)
        if field.name in names
    ]
    return make_dataclass(name, chosen, frozen=True)


def shown_name(field: Field[Any]) -> str:
    return field.metadata["name"] or field.name


def _shown_value(field: Field[Any]) -> str:
    about = field.metadata
    if about["choices"]:
        return "|".join(about["choices"])
    if about["value"]:
        return str(about["value"])
    return str(field.default) if field.default not in (None, MISSING) else "N" if about["least"] is not None else "…"


def _value(key: str, text: str, field: Field[Any]) -> str | int | float:
    choices, least = field.metadata["choices"], field.metadata["least"]
    if choices and text not in choices:
        problem = f"{key} is {text!r}, expected one of {', '.join(choices)}{suggest(text, choices)}"
        raise UsageError(problem, f"--set {key}=…", code="bad-setting", key=key)
    if least is None:
        return text
    value = _number(text, real=field.metadata["real"])
    if value is None or not least <= value <= field.metadata["most"] or (field.metadata["above"] and value == least):
        example = field.metadata["example"] or least
        problem = f"{key} is {text!r}, expected {_expected(field)}."
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


def _expected(field: Field[Any]) -> str:
    least, most = field.metadata["least"], field.metadata["most"]
    kind = "a number" if field.metadata["real"] else "a whole number"
    if most < math.inf:
        return f"{kind} from {least:g} to {most:{'g' if field.metadata['real'] else ','}}"
    return f"{kind} {'above' if field.metadata['above'] else 'from'} {least:g}"
