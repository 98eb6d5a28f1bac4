"""Where the words of prompts come from: the user's own files, checked before anything is asked, or a set's own file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assay.asking.plan import digest_of
from assay.errors import DataError, UsageError
from assay.files.decoding import python_value
from assay.files.opening import read_whole, reason
from assay.files.rows import BadRows, Row, read_rows, require_any
from assay.languages import ENGLISH
from assay.probes.bbq.items import OPTIONS
from assay.probes.bbq.prompts import PLACES, SLOTS, FewShotExample, PromptWording
from assay.probes.bbq.settings import ALL_ORDERS, ALL_PROMPTS, FREE, LISTED_FORMS, NO_VARIANT, BBQSettings
from assay.probes.question_format import ListedQuestion

_BRACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PATH = re.compile(r"\S*(?:[/\\]|\.(?:txt|md))\S*")
_FIELDS = 'Every line is an object with "context", "question", "ans0", "ans1", "ans2" and "label" (0, 1 or 2).'


def read_wording(settings: BBQSettings, language: str = ENGLISH) -> PromptWording:
    """The words that the settings name, in a language."""
    return PromptWording(
        variant="" if settings.variant == NO_VARIANT else settings.variant,
        template=_prompt(Path(settings.prompt)) if settings.prompt else "",
        system=_system(settings.system) if settings.system is not None else "",
        shots=_shots(Path(settings.shots)) if settings.shots else (),
        language=language,
    )


def digests_of(wording: PromptWording) -> dict[str, str]:
    """The digests of the user's texts, by setting."""
    brought = {prompt_setting(wording): wording.template, "system": wording.system, "shots": wording.shots}
    return {name: digest_of(text) for name, text in brought.items() if text}


def prompt_setting(wording: PromptWording) -> str:
    """The setting that a wording's prompt comes from."""
    return "prompts" if wording.lists_singly else "prompt"


def require_slots(template: str, form: str, file: str | None) -> None:
    """Refuse a prompt without the slots that its form needs."""
    slots = ["question", *(["options"] if form in LISTED_FORMS else [])]
    for slot in ("context", *slots):
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


def _shots(path: Path) -> tuple[FewShotExample, ...]:
    rows = read_rows(_require_file(path, "shots"), BadRows(skip=False))
    shots = tuple(_shot(row, path, line) for line, row in rows)
    if not shots:
        raise DataError("this file has no examples.", _FIELDS, code="empty-file", file=path)
    return shots


def _shot(row: Row, path: Path, line: int) -> FewShotExample:
    def text(name: str) -> str:
        value = row.get(name)
        if isinstance(value, str) and (value or name == "context"):
            return value
        fault, code = ("is missing", "missing-key") if name not in row else ("is not text", "bad-value")
        raise DataError(f'"{name}" {fault}.', _FIELDS, code=code, file=path, line=line, key=name)

    answers = tuple(text(f"ans{option}") for option in range(OPTIONS))
    label = row.get("label")
    if not isinstance(label, int) or isinstance(label, bool) or not 0 <= label < OPTIONS:
        problem = f'"label" is {label!r}, expected 0, 1 or 2.'
        raise DataError(problem, _FIELDS, code="bad-label", file=path, line=line, key="label")
    return FewShotExample(ListedQuestion(text("context"), text("question"), answers), label)


def _read(path: Path, name: str) -> str:
    try:
        return read_whole(_require_file(path, name)).decode().replace("\r\n", "\n")
    except (OSError, UnicodeError) as error:
        raise DataError(
            f"cannot be read ({reason(error)}).", "Save it as UTF-8.", code="unreadable-file", file=path
        ) from None


def _require_file(path: Path, name: str) -> Path:
    if not path.is_file():
        raise UsageError(f"{name} is {path}, which is not a file.", f"--set {name}=FILE", code="bad-setting", key=name)
    return path


# --- a set's published prompts, from its own file: assay does not repeat their words


FILES = ("evaluation_prompts.tsv", "0_evaluation_prompts.tsv", "answer_detection.py")
"""How KoBBQ and MBBQ call the file, and how `assay data fetch kobbq` does."""

_SLOTS = ("context", "question", "a", "b", "c")
_REMEDY = "A prompt needs the slots {context}, {question}, {a}, {b} and {c}, each once; see docs/languages.md."
_LARGE = re.compile(r"\{([ABC])\}")
_LARGEST = 1 << 20  # bytes of a program
_LONGEST = 20_000  # characters of a prompt
_WRONG_SHAPE = (AttributeError, TypeError, RecursionError, MemoryError)
_LISTED = re.compile(r"([Aa])\)?\s*[:.)]?\s*\{a\}")


def wordings_by_prompt(
    wording: PromptWording, settings: BBQSettings, data: Sequence[tuple[str, str]]
) -> dict[str, PromptWording]:
    """The wording with each prompt that the setting names, by its id; `data` are the data's files, with digests."""
    if settings.prompts is None:
        return {"": wording}
    for name, text in (("variant", wording.variant), ("prompt", wording.template)):
        if text:
            problem = f"{name} and prompts exclude each other: each has all words of the question."
            raise UsageError(problem, "Leave one of them out.", code="bad-setting", key="prompts")
    if settings.context != "given":
        problem = f"prompts have a place for the context, and with context={settings.context} there is none."
        raise UsageError(problem, "--set context=given", code="bad-setting", key="prompts")
    if settings.orders == ALL_ORDERS and settings.prompts == ALL_PROMPTS:
        problem = "prompts=all and orders=all exclude each other: every question would be asked 30 times."
        raise UsageError(problem, "--set orders=shuffled", code="bad-setting", key="prompts")
    path = _prompts_file(settings, [Path(file) for file, _ in data[:1]])
    prompts = read_prompts(path, wording.language)
    if settings.prompts not in (ALL_PROMPTS, *prompts):
        problem = f"prompts is {settings.prompts!r}; this file has {', '.join(prompts)}."
        remedy = f"--set prompts={next(iter(prompts))}|all"
        raise UsageError(problem, remedy, code="bad-setting", file=path, key="prompts")
    return {
        id: replace(prompt, system=wording.system, shots=wording.shots, language=wording.language)
        for id, prompt in prompts.items()
        if settings.prompts in (ALL_PROMPTS, id)
    }


def read_prompts(path: Path, spoken: str) -> Mapping[str, PromptWording]:
    """The prompts of a file by id, in their order; each lists the options itself."""
    rows = _of_program(path, spoken) if path.suffix == ".py" else _of_table(path)
    prompts: dict[str, PromptWording] = {}
    for line, name, text, unknown in [*require_any(rows, path, "prompt", _REMEDY)]:  # the file is closed by now
        template = _LARGE.sub(lambda match: f"{{{match[1].lower()}}}", text.strip().replace("\\n", "\n"))
        if len(template) > _LONGEST:
            problem = f"prompt {name!r} has more than {_LONGEST:,} characters."
            raise DataError(problem, _REMEDY, code="bad-text", file=path, line=line, key="prompt")
        listed = _LISTED.search(template)
        if sorted(re.findall(r"\{(\w*)\}", template)) != sorted(_SLOTS) or listed is None:
            problem = f"prompt {name!r} does not have every slot once, or no letter before {{a}}."
            raise DataError(problem, _REMEDY, code="missing-key", file=path, line=line, key="prompt")
        letters = PLACES if listed[1] == "A" else tuple(letter.lower() for letter in PLACES)
        if template.count(f"({letters[0]})") > 1:  # the instruction has brackets, too
            letters = tuple(f"({letter})" for letter in letters)
        prompts[name] = PromptWording(template=template, letters=letters, unknown=unknown)
    return prompts


def _prompts_file(settings: BBQSettings, data: Sequence[Path]) -> Path:
    if settings.prompts_file:
        return _require_file(Path(settings.prompts_file), "prompts_file")
    folders = [folder for file in data for folder in (*file.parents[:2], file.parent.parent / "evaluation")]
    path = next((path for folder in folders for name in FILES if (path := folder / name).is_file()), None)
    if path is None:
        problem = f"there is no file of prompts ({', '.join(FILES)}) next to the data."
        raise UsageError(problem, "Name one: --set prompts_file=FILE", code="bad-setting", key="prompts")
    return path


_Row = tuple[int, str, str, str]  # line, id, prompt, unknown


def _of_table(path: Path) -> Iterator[_Row]:
    for line, row in [*read_rows(path, BadRows(skip=False))]:
        for name in ("prompt_id", "prompt"):
            if not row.get(name):
                raise DataError(f'"{name}" is missing.', _REMEDY, code="missing-key", file=path, line=line, key=name)
        yield line, str(row["prompt_id"]), str(row["prompt"]), str(row.get("unknown") or "")


def _of_program(path: Path, spoken: str) -> Iterator[_Row]:
    """The prompts in MBBQ's program, which is read and not run: English ones, and their translations."""
    try:
        tree = ast.parse(read_whole(path, _LARGEST).decode())
        assigned = {
            statement.targets[0].id: python_value(statement.value)
            for statement in tree.body
            if isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and statement.targets[0].id in ("prompt_sets", "trans_prompt_dict")
        }
        prompts = next(iter(assigned["prompt_sets"].values()))
        if spoken != ENGLISH:
            prompts = [assigned["trans_prompt_dict"][spoken][prompt] for prompt in prompts]
        numbered = [(str(number), str(prompt)) for number, prompt in enumerate(prompts, 1)]
    except (OSError, SyntaxError, ValueError, LookupError, StopIteration, *_WRONG_SHAPE) as error:
        problem = f"has no prompts in this language where MBBQ's program has them ({error!r})."
        remedy = "Take answer_detection.py of MBBQ's repository, or write a table; see docs/languages.md."
        raise DataError(problem, remedy, code="unreadable-file", file=path) from None
    for name, prompt in numbered:
        for slot in _SLOTS:
            prompt = prompt.replace("{}", f"{{{slot}}}", 1)
        yield 1, name, prompt, ""
