"""Published prompts of a set, read from the set's own file: assay does not repeat their words.

A file is a table (TSV, CSV or JSON lines) with the columns `prompt_id`, `prompt` and, if a prompt has its own wording
of “cannot be determined”, `unknown`; or MBBQ's `answer_detection.py`. A prompt has the slots {context}, {question},
{a}, {b} and {c}; \\n is a line break. KoBBQ's third prompt has {B} and {C}, which are read as {b} and {c}.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import DataError, UsageError
from assay.files.decoding import python_value
from assay.files.opening import read_whole
from assay.languages import ENGLISH
from assay.probes.bbq.prompts import PLACES, Words
from assay.probes.bbq.settings import ALL_ORDERS, ALL_PROMPTS, Settings
from assay.rows import Bad, not_none, rows_of

FILES = ("evaluation_prompts.tsv", "0_evaluation_prompts.tsv", "answer_detection.py")
"""How KoBBQ and MBBQ call the file, and how `assay data fetch kobbq` does."""

_SLOTS = ("context", "question", "a", "b", "c")
_REMEDY = "A prompt needs the slots {context}, {question}, {a}, {b} and {c}, each once; see docs/languages.md."
_LARGE = re.compile(r"\{([ABC])\}")
_LARGEST = 1 << 20  # bytes of a program
_LONGEST = 20_000  # characters of a prompt
_WRONG_SHAPE = (AttributeError, TypeError, RecursionError, MemoryError)
_LISTED = re.compile(r"([Aa])\)?\s*[:.)]?\s*\{a\}")


@dataclass(frozen=True)
class FilePrompt:
    """A prompt that lists the options itself."""

    template: str
    letters: tuple[str, ...]
    unknown: str = ""


def words_by_prompt(words: Words, settings: Settings, data: Sequence[tuple[str, str]]) -> dict[str, Words]:
    """The words with each prompt that the setting names, by its id; `data` are the data's files, with their digests."""
    if settings.prompts is None:
        return {"": words}
    for name, given in (("variant", words.variant), ("prompt", words.template)):
        if given:
            problem = f"{name} and prompts exclude each other: each has all words of the question."
            raise UsageError(problem, "Leave one of them out.", code="bad-setting", key="prompts")
    if settings.context != "given":
        problem = f"prompts have a place for the context, and with context={settings.context} there is none."
        raise UsageError(problem, "--set context=given", code="bad-setting", key="prompts")
    if settings.orders == ALL_ORDERS and settings.prompts == ALL_PROMPTS:
        problem = "prompts=all and orders=all exclude each other: every question would be asked 30 times."
        raise UsageError(problem, "--set orders=shuffled", code="bad-setting", key="prompts")
    path = _file(settings, [Path(file) for file, _ in data[:1]])
    known = read_prompts(path, words.language)
    if settings.prompts != ALL_PROMPTS and settings.prompts not in known:
        problem = f"prompts is {settings.prompts!r}; this file has {', '.join(known)}."
        raise UsageError(
            problem, f"--set prompts={next(iter(known))}|all", code="bad-setting", file=path, key="prompts"
        )
    wanted = list(known) if settings.prompts == ALL_PROMPTS else [settings.prompts]
    return {
        name: replace(words, template=own.template, letters=own.letters, unknown=own.unknown)
        for name, own in known.items()
        if name in wanted
    }


def read_prompts(path: Path, spoken: str) -> Mapping[str, FilePrompt]:
    """The prompts of a file by id, in their order."""
    rows = _of_program(path, spoken) if path.suffix == ".py" else _of_table(path)
    found: dict[str, FilePrompt] = {}
    for line, name, text, unknown in [*not_none(rows, path, "prompt", _REMEDY)]:  # the file is closed by now
        template = _LARGE.sub(lambda match: f"{{{match[1].lower()}}}", text.strip().replace("\\n", "\n"))
        if len(template) > _LONGEST:
            problem = f"prompt {name!r} has more than {_LONGEST:,} characters."
            raise DataError(problem, _REMEDY, code="bad-text", file=path, line=line, key="prompt")
        slots = re.findall(r"\{(\w*)\}", template)
        listed = _LISTED.search(template)
        if sorted(slots) != sorted(_SLOTS) or listed is None:
            problem = f"prompt {name!r} does not have every slot once, or no letter before {{a}}."
            raise DataError(problem, _REMEDY, code="missing-key", file=path, line=line, key="prompt")
        letters = PLACES if listed[1] == "A" else tuple(letter.lower() for letter in PLACES)
        if template.count(f"({letters[0]})") > 1:  # the instruction has brackets, too
            letters = tuple(f"({letter})" for letter in letters)
        found[name] = FilePrompt(template, letters, unknown)
    return found


def _file(settings: Settings, data: Sequence[Path]) -> Path:
    if settings.prompts_file:
        path = Path(settings.prompts_file)
        if path.is_file():
            return path
        problem = f"prompts_file is {path}, which is not a file."
        raise UsageError(problem, "--set prompts_file=FILE", code="bad-setting", key="prompts_file")
    near = [folder for file in data for folder in (file.parent, file.parent.parent, file.parent.parent / "evaluation")]
    for path in (folder / name for folder in near for name in FILES):
        if path.is_file():
            return path
    problem = f"there is no file of prompts ({', '.join(FILES)}) next to the data."
    raise UsageError(problem, "Name one: --set prompts_file=FILE", code="bad-setting", key="prompts")


_Row = tuple[int, str, str, str]  # line, id, prompt, unknown


def _of_table(path: Path) -> Iterator[_Row]:
    for line, row in [*rows_of(path, Bad(skip=False))]:
        for name in ("prompt_id", "prompt"):
            if not row.get(name):
                raise DataError(f'"{name}" is missing.', _REMEDY, code="missing-key", file=path, line=line, key=name)
        yield line, str(row["prompt_id"]), str(row["prompt"]), str(row.get("unknown") or "")


def _of_program(path: Path, spoken: str) -> Iterator[_Row]:
    """The prompts in MBBQ's program, which is read and not run: English ones, and their translations."""
    try:
        tree = ast.parse(read_whole(path, _LARGEST).decode())
        said = {
            each.targets[0].id: python_value(each.value)
            for each in tree.body
            if isinstance(each, ast.Assign)
            and isinstance(each.targets[0], ast.Name)
            and each.targets[0].id in ("prompt_sets", "trans_prompt_dict")
        }
        prompts = next(iter(said["prompt_sets"].values()))
        if spoken != ENGLISH:
            prompts = [said["trans_prompt_dict"][spoken][prompt] for prompt in prompts]
        numbered = [(str(number), str(prompt)) for number, prompt in enumerate(prompts, 1)]
    except (OSError, SyntaxError, ValueError, LookupError, StopIteration, *_WRONG_SHAPE) as error:
        problem = f"has no prompts in this language where MBBQ's program has them ({error!r})."
        remedy = "Take answer_detection.py of MBBQ's repository, or write a table; see docs/languages.md."
        raise DataError(problem, remedy, code="unreadable-file", file=path) from None
    for name, prompt in numbered:
        for slot in _SLOTS:
            prompt = prompt.replace("{}", f"{{{slot}}}", 1)
        yield 1, name, prompt, ""
