"""The user's own words: a prompt, a system prompt and examples, each checked before anything is asked."""

from __future__ import annotations

import re
from pathlib import Path

from assay.errors import DataError, UsageError
from assay.files.opening import read_whole, reason
from assay.languages import ENGLISH
from assay.plan import digest_of
from assay.probes.bbq.examples import OPTIONS
from assay.probes.bbq.prompts import SLOTS, Shot, Words
from assay.probes.bbq.settings import FREE, LISTED_FORMS, NO_VARIANT, Settings
from assay.probes.listed import Question
from assay.rows import Bad, Row, rows_of

_BRACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PATH = re.compile(r"\S*(?:[/\\]|\.(?:txt|md))\S*")
_FIELDS = 'Every line is an object with "context", "question", "ans0", "ans1", "ans2" and "label" (0, 1 or 2).'


def words_of(settings: Settings, language: str = ENGLISH) -> Words:
    """The words that the settings name, in a language."""
    return Words(
        variant="" if settings.variant == NO_VARIANT else settings.variant,
        template=_prompt(Path(settings.prompt)) if settings.prompt else "",
        system=_system(settings.system) if settings.system is not None else "",
        shots=_shots(Path(settings.shots)) if settings.shots else (),
        language=language,
    )


def digests_of(words: Words) -> dict[str, str]:
    """The digests of the user's texts, by setting."""
    brought = {prompt_setting(words): words.template, "system": words.system, "shots": words.shots}
    return {name: digest_of(text) for name, text in brought.items() if text}


def prompt_setting(words: Words) -> str:
    """The setting that the words' prompt comes from."""
    return "prompts" if words.lists_singly else "prompt"


def require_slots(template: str, form: str, file: str | None) -> None:
    """Refuse a prompt without the slots that its form needs."""
    wanted = ["question", *(["options"] if form in LISTED_FORMS else [])]
    for slot in ("context", *wanted):
        if f"{{{slot}}}" not in template.replace("{{", ""):
            remedy = f"Put {{{slot}}} where the {slot} should be; form={form} needs it."
            raise DataError(f"the prompt has no slot {{{slot}}}.", remedy, code="missing-key", file=file, key=slot)
    if form == FREE and "{options}" in template:
        problem = "the prompt lists the options, but form=free does not show them."
        remedy = "Leave out {options}, or --set form=written."
        raise DataError(problem, remedy, code="unknown-key", file=file, key="options")


def _prompt(path: Path) -> str:
    """A template; one with unknown slots or without any text is refused."""
    text = _read(path, "prompt").rstrip("\n")
    if not text.strip():
        raise DataError("the prompt is empty.", _TEMPLATE, code="empty-file", file=path)
    for match in _BRACE.finditer(text):
        slot, line = match[1], text.count("\n", 0, match.start()) + 1
        if slot is None and match[0] in "{}":
            problem, twice = f"a single {match[0]} is not part of a slot.", f"Write {match[0] * 2} for a brace."
            raise DataError(problem, f"{twice} {_TEMPLATE}", code="bad-text", file=path, line=line, key="prompt")
        if slot is not None and slot not in SLOTS:
            problem = f"unknown slot {{{slot}}}; expected {', '.join(f'{{{name}}}' for name in SLOTS)}."
            remedy = "Correct it; {{ and }} are braces in the text."
            raise DataError(problem, remedy, code="unknown-key", file=path, line=line, key=slot)
    return text


_TEMPLATE = "A prompt is a text with the slots {context}, {question} and, if the form lists options, {options}."


def _system(value: str) -> str:
    """A file's text if there is such a file, else the value itself."""
    if Path(value).is_file():
        text = _read(Path(value), "system").strip()
        if text:
            return text
        raise DataError("the system prompt is empty.", "Write one, or leave it out.", code="empty-file", file=value)
    if _PATH.fullmatch(value):
        remedy = "Name a file, or give the text itself: --set system='You are …'"
        raise UsageError(f"system is {value}, which is not a file.", remedy, code="bad-setting", key="system")
    if value.strip():
        return value.strip()
    raise UsageError("system is empty.", "--set system='You are …'", code="bad-setting", key="system")


def _shots(path: Path) -> tuple[Shot, ...]:
    _require_file(path, "shots")
    shots = tuple(_shot(row, path, line) for line, row in rows_of(path, Bad(skip=False)))
    if not shots:
        raise DataError("this file has no examples.", _FIELDS, code="empty-file", file=path)
    return shots


def _shot(row: Row, path: Path, line: int) -> Shot:
    def text(name: str) -> str:
        value = row.get(name)
        if isinstance(value, str) and (value or name == "context"):
            return value
        said, code = ("is missing", "missing-key") if name not in row else ("is not text", "bad-value")
        raise DataError(f'"{name}" {said}.', _FIELDS, code=code, file=path, line=line, key=name)

    answers = tuple(text(f"ans{place}") for place in range(OPTIONS))
    label = row.get("label")
    if not isinstance(label, int) or isinstance(label, bool) or not 0 <= label < OPTIONS:
        problem = f'"label" is {label!r}, expected 0, 1 or 2.'
        raise DataError(problem, _FIELDS, code="bad-label", file=path, line=line, key="label")
    return Shot(Question(text("context"), text("question"), answers), label)


def _read(path: Path, name: str) -> str:
    _require_file(path, name)
    try:
        return read_whole(path).decode().replace("\r\n", "\n")
    except (OSError, UnicodeError) as error:
        raise DataError(
            f"cannot be read ({reason(error)}).", "Save it as UTF-8.", code="unreadable-file", file=path
        ) from None


def _require_file(path: Path, name: str) -> None:
    if not path.is_file():
        raise UsageError(f"{name} is {path}, which is not a file.", f"--set {name}=FILE", code="bad-setting", key=name)
