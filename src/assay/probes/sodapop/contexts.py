"""What is told about a person and asked about them, with a place for the name: our own contexts, or Social IQa's.

Social IQa comes as JSON lines: context, question, answerA, answerB, answerC. The right one is in "correct" (A, B, C),
as in SODAPOP's copy, or in a file of labels (1, 2, 3) beside it, as in the original: dev.jsonl and dev-labels.lst, each
plain or packed (.gz, .xz).

The person is the one that the question names. The name is replaced wherever it is a whole, capitalised word, with or
without "'s": Ann is not in Anna or Ann-Marie, and "jordan" is not a name. A month (April) counts as a person.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, NoReturn

from assay.datasets.catalogue import forms
from assay.errors import DataError, UsageError
from assay.files.opening import PACKED, open_text
from assay.files.rows import BadRows, Row, read_rows
from assay.results.formatting import clipped

NAME = "\ue000"
"""Stands for the person's name in the texts of a context: a character that no language uses."""

DESCRIBE, ALL = "describe", "all"
"""Which questions to read: the paper's, or all that have a prompt."""

_PACKAGED = Path(__file__).parents[2] / "data" / "sodapop"
STARTER, QUESTIONS = _PACKAGED / "contexts.toml", _PACKAGED / "questions.toml"
PAPER_FILE = Path("sodapop") / "socialIQa_v1.4_dev_Bethany_0_2191.jsonl"
PAPER_NAME = "Bethany"
"""The person in SODAPOP's copy of Social IQa's development set."""
PAPER_LINES, PAPER_CONTEXTS, PAPER_QUESTION = 321, 50, f"How would you describe {PAPER_NAME}?"


class FilledContext(NamedTuple):
    """The texts of a context with a name filled in."""

    context: str
    question: str
    prompt: str
    answer: str


@dataclass(frozen=True)
class Context:
    """A text about a person, a question about them, and the right answer; each has NAME where their name goes.

    The prompt comes before the answer when a model fills its words: "NAME is". `location` says where it is from.
    """

    text: str
    question: str
    prompt: str
    answer: str
    location: str

    def filled(self, name: str) -> FilledContext:
        """The texts with a name put in; a possessive is always the name and "'s" (James's)."""
        return FilledContext(
            context=self.text.replace(NAME, name),
            question=self.question.replace(NAME, name),
            prompt=self.prompt.replace(NAME, name),
            answer=self.answer.replace(NAME, name),
        )


# --- questions and their prompts

_NOBODY = frozenset({"Others", "Everyone", "Everybody", "People", "He", "I", "It", "She", "They", "We", "You"})


@dataclass(frozen=True)
class _QuestionPattern:
    """A question of Social IQa, and its prompt: the usual one, and others before answers that begin with some words."""

    pattern: str
    prompt: str
    others: Mapping[str, str]

    def person(self, question: str) -> str | None:
        """The name that a question asks about; None for other questions and without a name."""
        match = re.fullmatch(self.pattern.replace(NAME, r"(\w+(?:[-'’](?!s\b)\w+)*)"), question)
        return match[1] if match and match[1][0].isupper() and match[1] not in _NOBODY else None

    def prompt_before(self, answer: str) -> str:
        first = answer.split()[0].lower()
        return self.others.get(NAME if first.startswith(NAME) else first, self.prompt)


@cache
def _questions() -> dict[str, _QuestionPattern]:
    """Those that have a prompt, by what they ask for; data/sodapop/questions.toml says how they are written."""
    table = tomllib.loads(QUESTIONS.read_text(encoding="utf-8").replace("NAME", NAME))
    words = {"VERBS": table.pop("verbs"), "SENTENCES": table.pop("sentences")}
    patterns = {}
    for kind, entry in table.items():
        others = {
            word: prompt
            for first_words, prompt in entry.get("before", ())
            for word in words.get(first_words, first_words).split()
        }
        patterns[kind] = _QuestionPattern(entry["question"], entry["prompt"], others)
    return patterns


# --- reading


def starter_contexts() -> list[Context]:
    """The packaged contexts, which are our own; data/sodapop/contexts.toml says what they are like."""
    table = tomllib.loads(STARTER.read_text(encoding="utf-8"))
    question, prompt = table["question"].replace("[NAME]", NAME), _questions()[DESCRIBE].prompt
    return [
        Context(
            text=entry["text"].replace("[NAME]", NAME),
            question=question,
            prompt=prompt,
            answer=entry["answer"],
            location=f"starter {number}",
        )
        for number, entry in enumerate(table["context"], 1)
    ]


def read_contexts(path: Path, *, questions: str = DESCRIBE, bad: BadRows | None = None) -> list[Context]:
    """The contexts of a file in Social IQa's format that have the questions asked for; other rows are passed over.

    A row with such a question that cannot be used, because its context does not name the person, say, is an error or,
    where bad rows are to be skipped, noted in `bad`.
    """
    bad = bad or BadRows(skip=False)
    contexts = _contexts(path, read_rows(path, bad), [DESCRIBE] if questions == DESCRIBE else [*_questions()], bad)
    if not contexts:
        expected = '"How would you describe NAME?"' if questions == DESCRIBE else "a Social IQa question about NAME"
        problem = f"no row can be used: expected {expected}, with a context that names this person."
        remedy = "Name a file in Social IQa's format, or use all its questions with --set questions=all."
        raise DataError(problem, remedy, code="empty-file", file=path)
    return contexts


def paper_file(folder: Path, label: str = "the paper's contexts") -> Path:
    """SODAPOP's copy of Social IQa in a folder of official data."""
    if paths := forms(folder / PAPER_FILE):
        return paths[0]
    remedy = "Get them with `assay data fetch sodapop`, or name a file in Social IQa's format with --set texts=FILE."
    raise UsageError(f"{label} ({PAPER_FILE}) are not in {folder}.", remedy, code="missing-data")


def paper_contexts(path: Path) -> list[Context]:
    """The paper's 50 contexts: the descriptions of Bethany in the first 321 lines of SODAPOP's copy of Social IQa."""
    bad = BadRows(skip=False)
    rows = [(line, row) for line, row in read_rows(path, bad) if row.get("question") == PAPER_QUESTION]
    contexts = _contexts(path, [(line, row) for line, row in rows if line <= PAPER_LINES], [DESCRIBE], bad)
    if len(contexts) != PAPER_CONTEXTS:
        problem = f'"{PAPER_QUESTION}" appears {len(contexts)} times in the first {PAPER_LINES} lines'
        problem += f", expected {PAPER_CONTEXTS} times as in SODAPOP's own file."
        remedy = "Name that file, or read all contexts of this one with --set texts=FILE."
        raise DataError(problem, remedy, code="changed-file", file=path)
    return contexts


def _contexts(path: Path, lines: Iterable[tuple[int, Row]], kinds: Sequence[str], bad: BadRows) -> list[Context]:
    rows = list(lines)
    labels = _labels(path) if any("correct" not in row for _, row in rows) else []
    contexts = []
    for line, row in rows:
        try:
            contexts.append(_context(path, line, row, kinds, labels))
        except DataError as error:
            bad.found(error)
    return [context for context in contexts if context]


def _context(path: Path, line: int, row: Row, kinds: Sequence[str], labels: list[str]) -> Context | None:
    def wrong(code: str, key: str | None, problem: str, remedy: str = "Fix the row") -> NoReturn:
        skip = f"{remedy}, or leave out such rows with --skip-bad."
        raise DataError(problem, skip, code=code, file=path, line=line, key=key)

    def text(key: str) -> str:
        value = row.get(key)
        if not isinstance(value, str) or not value.strip() or NAME in value:
            code, state = ("bad-value", f"is {value!r}") if key in row else ("missing-key", "is missing")
            wrong(code, key, f'"{key}" {state}, expected a text (without U+E000).')
        return value.strip()

    def letter() -> str:
        """Which answer is the right one: A, B or C."""
        if "correct" in row:
            if row["correct"] not in ("A", "B", "C"):
                wrong("bad-label", "correct", f'"correct" is {row["correct"]!r}, expected A, B or C.', "Fix the file")
            return str(row["correct"])
        label = labels[line - 1]
        if label not in ("1", "2", "3"):
            wrong("bad-label", None, f"its label is {label!r}, expected 1, 2 or 3.", "Fix the file")
        return "ABC"[int(label) - 1]

    question = " ".join(text("question").split())
    people = ((kind, _questions()[kind].person(question)) for kind in kinds)
    kind, name = next(((kind, name) for kind, name in people if name), ("", ""))
    if not name:
        return None
    context = with_place_for(name, text("context"))
    if NAME not in context:
        problem = f"the question is about {name}, expected this name as a word of the context: {_short(context)}"
        wrong("bad-text", "context", problem, "Write the name there as in the question")
    right = f"answer{letter()}"
    answer = re.sub(r"(?<!\.)\.$", "", with_place_for(name, text(right))).strip()
    if not re.search(r"[^\W_]", re.sub(rf"{NAME}\S*", "", answer)):
        wrong("bad-text", right, f"the right answer {_short(answer)} has no word.")
    return Context(
        text=context,
        question=with_place_for(name, question),
        prompt=_questions()[kind].prompt_before(answer),
        answer=answer,
        location=f"{path.name} line {line}",
    )


def _labels(path: Path) -> list[str]:
    """The labels in the file beside a data file, one a line."""
    base = re.sub(r"\.jsonl?(\.gz|\.xz)?$", "", path.name)
    names = [f"{base}-labels.lst{packed}" for packed in ("", *PACKED)]
    beside = next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if beside is None:
        problem = f'there are rows without "correct", and no labels beside the file: neither {" nor ".join(names)}.'
        remedy = "Put the labels there (1, 2 or 3 a line), or the right answer's letter into the rows."
        raise DataError(problem, remedy, code="missing-key", file=path, key="correct")
    labels, rows = _lines(beside), _lines(path)
    if len(labels) != len(rows):
        problem = f"there are {len(labels)} labels, expected {len(rows)}: one for every line of {path.name}."
        raise DataError(problem, "Download both files again; they belong together.", code="changed-file", file=beside)
    return labels


def _lines(path: Path) -> list[str]:
    """The lines of a file, without the empty ones at its end."""
    with open_text(path) as file:
        lines = [line.strip() for line in file]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _short(text: str) -> str:
    return f'"{clipped(text, 80)}"'


def with_place_for(name: str, text: str) -> str:
    """A text with NAME in place of a name: of whole words only, and never of a part of a double name.

    >>> with_place_for("Ann", "Ann met Anna at Ann's, not Ann-Marie.").replace(NAME, "Bob")
    "Bob met Anna at Bob's, not Ann-Marie."
    """
    return _word(name).sub(lambda match: f"{NAME}{match['mark']}s" if match["mark"] else NAME, text)


@cache
def _word(name: str) -> re.Pattern[str]:
    before = r"(?<!\w)(?<!\w[-'’])"
    behind = r"(?!\w|-\w|['’](?!(?:s|d|ll|ve|re|m)\b)\w)"
    bare = r"(?P<mark>['’])(?= \w)" if name[-1] in "sS" else "(?P<mark>(?!))"  # "James' book", which becomes "'s"
    return re.compile(rf"{before}{re.escape(name)}(?:{bare}|{behind})")


# --- texts without he and she

_PLURAL = {"is": "are", "was": "were", "has": "have", "does": "do"}

# Behind "her" where it is an object; in front of any other word it is taken for a possessive.
_BEHIND_OBJECT = """
    a about after again all also an and any around as at away be because before but by do down everything feel find for
    from get go he her his how if in into it know not of off on or out over she so some something that the their there
    they through to too understand until up very was well what when where whether which while who why with without
"""

_CHANGES = [
    (re.compile(rf"(?<![\w-])(?:{pattern})(?!-?\w)", re.IGNORECASE), plain)
    for pattern, plain in (
        (r"s?he['’]s(?= (?:been|got|had|never)\b)", "they've"),
        (r"s?he['’]s", "they're"),
        *((rf"s?he {verb}n['’]t", f"they {plural}n't") for verb, plural in _PLURAL.items()),
        *((rf"s?he {verb}", f"they {plural}") for verb, plural in _PLURAL.items()),
        ("s?he", "they"),
        ("him", "them"),
        (r"hers|her['’]s|his(?=\s*(?:[.,;:!?]|$))", "theirs"),
        (rf"her(?=\s+(?!(?:{'|'.join(_BEHIND_OBJECT.split())})(?!-?\w))\w)", "their"),
        ("her", "them"),
        ("his", "their"),
        ("himself|herself", "themself"),
    )
]


def neutral_text(text: str) -> str:
    """A text with they in place of he and she, in all their forms; capitals stay.

    is, was, has and does agree with it; other verbs stay ("they goes"), and so does a verb in front ("is they").
    Pronouns of other people are replaced as well, because it is unknown whose they are. The next word decides "her":
    it is "them" in "told her that" and "their" in "her book", but "took her home" becomes "took their home".

    >>> neutral_text("She was late, so he lent her his car and told her to keep it to herself.")
    'They were late, so they lent them their car and told them to keep it to themself.'
    """
    for pattern, plain in _CHANGES:
        text = pattern.sub(partial(_with_capitals, plain), text)
    return text


def neutral(context: Context) -> Context:
    """The context with they in place of he and she, whomever they are about."""
    text, question, answer = map(neutral_text, (context.text, context.question, context.answer))
    return replace(context, text=text, question=question, answer=answer)


def _with_capitals(plain: str, old: re.Match[str]) -> str:
    if old[0].isupper():
        return plain.upper()
    return plain[0].upper() + plain[1:] if old[0][0].isupper() else plain
