"""UnQover's word lists, in the authors' format: subjects, attributes ("activities"), templates ("slots").

The packaged lists and the authors' own are read by the same code. A folder holds

    nouns/subjects/NAME     [subj] cluster | text      and, aligned with it, [subj:dem] text
    activities/NAME         [p_act] cluster | text     and, aligned, [p_act:neg], [p_act-single], [p_act-single:neg]
    slots/NAME              context TAB question TAB negated question
    fillers/newsqa          a header for models trained on NewsQA

Blank lines and lines that begin with # are comments.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay.errors import DataError

PACKAGED = Path(__file__).parents[2] / "data" / "unqover"


@dataclass(frozen=True)
class ClassFiles:
    """Which files make up a class of subjects. With two subject files, every pair has one subject of each."""

    subjects: tuple[str, ...]
    activities: str
    slots: str


CLASSES = {
    "gender": ClassFiles(("female", "male"), "occupation_rev1", "gender_noact"),
    "nationality": ClassFiles(("country",), "biased_country", "country_noact"),
    "ethnicity": ClassFiles(("ethnicity",), "biased_ethnicity", "ethnicity_noact"),
    "religion": ClassFiles(("religion",), "biased_religion", "religion_noact"),
}


@dataclass(frozen=True)
class Subject:
    """Somebody to ask about; `forms` are its texts by slot: "subj" and, for countries, "subj:dem"."""

    cluster: str
    forms: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.forms["subj"]


@dataclass(frozen=True)
class Attribute:
    """Something to ask about them; `forms` are its texts by head: "p_act", "p_act:neg", "p_act-single", …"""

    kind: str  # p_act (people) or l_act (places)
    cluster: str
    forms: Mapping[str, str]

    @property
    def text(self) -> str:
        """The attribute's own name: its base form, as the authors have it."""
        return self.forms[self.kind]


@dataclass(frozen=True)
class Template:
    """A context and two questions with slots; `slot` is the subjects' form, `head` the attribute's."""

    context: str
    asked: str
    negated: str
    slot: str  # subj or subj:dem
    head: str  # p_act, p_act-single, l_act, …

    @property
    def kind(self) -> str:
        return _kind(self.head)


@dataclass(frozen=True)
class Lists:
    """All that a class's questions are made of. With `split`, pairs join subjects before and behind it."""

    subjects: tuple[Subject, ...]
    split: int | None
    attributes: tuple[Attribute, ...]
    templates: tuple[Template, ...]
    header: str
    digest: str


def read_lists(cls: str, *, masked: bool, header: bool, family: str = "", folder: str | None = None) -> Lists:
    """The lists of a class, from a folder in the authors' format or the packaged ones.

    masked: templates with a masked sentence instead of questions. header: for models trained on NewsQA.
    family: "bert" or "roberta" reads the authors' lists of subjects that are single tokens there.
    """
    return _read_lists(cls, masked, header, family, str(Path(folder).resolve()) if folder else str(PACKAGED))


@lru_cache(maxsize=64)
def _read_lists(cls: str, masked: bool, header: bool, family: str, folder: str) -> Lists:
    files, root, hasher = CLASSES[cls], Path(folder), hashlib.sha256()
    suffix = f"_{family}" if family else ""
    groups = [_subjects(root / "nouns" / "subjects" / f"{name}{suffix}", hasher) for name in files.subjects]
    attributes = _attributes(root / "activities" / files.activities, hasher)
    slots = root / "slots" / (files.slots + ("_lm" if masked else ""))
    subjects = tuple(subject for group in groups for subject in group)
    templates = _templates(slots, hasher, masked, subjects, attributes)
    text = next((text for _, text in _lines(root / "fillers" / "newsqa", hasher)), "") if header else ""
    used = {template.kind for template in templates}
    return Lists(
        subjects=subjects,
        split=len(groups[0]) if len(groups) == 2 else None,
        attributes=tuple(attribute for attribute in attributes if attribute.kind in used),
        templates=templates,
        header=text,
        digest=hasher.hexdigest(),
    )


def _lines(path: Path, hasher: hashlib._Hash) -> Iterator[tuple[int, str]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"this word list cannot be read ({error.strerror}).",
            "A folder of word lists holds nouns/subjects, activities, slots and fillers; see --set word_lists=DIR.",
            file=path,
        ) from None
    hasher.update(path.name.encode() + hashlib.sha256(content).digest())
    for number, raw in enumerate(content.split(b"\n"), 1):
        try:
            line = raw.decode("utf-8").strip("\r ").lstrip("\ufeff")
        except UnicodeDecodeError:
            raise DataError(
                "this line is not UTF-8.", "Save the file as UTF-8 and try again.", file=path, line=number
            ) from None
        if line.strip() and not line.startswith("#"):
            yield number, line


def _entries(path: Path, hasher: hashlib._Hash, known: str) -> dict[str, list[tuple[int, str, str]]]:
    """Lines by head: (line number, cluster, text)."""
    entries: dict[str, list[tuple[int, str, str]]] = {}
    for number, line in _lines(path, hasher):
        match = re.fullmatch(rf"\[({known})\]\s*(?:([^|]*?)\s*\|)?\s*([^|]+?)\s*", line)
        if match is None:
            raise DataError(
                f"expected `[head] cluster | text` with a head like {known.split('|')[0]}, got {line!r}.",
                "Correct the line, or begin it with # to leave it out.",
                file=path,
                line=number,
            )
        head, cluster, text = match.groups()
        entries.setdefault(head, []).append((number, cluster or "None", text))
    return entries


def _aligned(path: Path, entries: Mapping[str, list[tuple[int, str, str]]], base: str) -> None:
    for head, rows in entries.items():
        if len(rows) != len(entries[base]):
            raise DataError(
                f"[{head}] has {len(rows)} entries, but [{base}] has {len(entries[base])}: they must correspond "
                "one to one.",
                "Add the missing entries or remove those too many.",
                file=path,
                line=rows[-1][0],
            )


def _subjects(path: Path, hasher: hashlib._Hash) -> list[Subject]:
    entries = _entries(path, hasher, "subj|subj:dem")
    if "subj" not in entries:
        raise DataError("there is no [subj] line.", "List at least two subjects.", file=path)
    _aligned(path, entries, "subj")
    for head, rows in entries.items():
        seen: dict[str, int] = {}
        for number, _, text in rows:
            if text in seen:
                raise DataError(
                    f"[{head}] {text} stands on line {seen[text]} already.", "Remove one.", file=path, line=number
                )
            seen[text] = number
    forms = [{head: rows[k][2] for head, rows in entries.items()} for k in range(len(entries["subj"]))]
    return [Subject(entries["subj"][k][1], texts) for k, texts in enumerate(forms)]


def _attributes(path: Path, hasher: hashlib._Hash) -> list[Attribute]:
    heads = "|".join(f"{kind}{form}" for kind in ("p_act", "l_act") for form in ("", ":neg", "-single", "-single:neg"))
    entries = _entries(path, hasher, heads)
    attributes = []
    for kind in ("l_act", "p_act"):
        own = {head: rows for head, rows in entries.items() if _kind(head) == kind}
        if not own:
            continue
        if kind not in own:
            raise DataError(f"there are [{next(iter(own))}] lines but no [{kind}] lines.", "Add them.", file=path)
        _aligned(path, own, kind)
        for head, rows in own.items():
            if not head.endswith(":neg") and f"{head}:neg" not in own:
                raise DataError(
                    f"[{head}] has {len(rows)} entries, but [{head}:neg] has 0: every attribute needs its negation.",
                    "Add an antonym or a `never` form for each.",
                    file=path,
                    line=rows[-1][0],
                )
        seen: dict[str, int] = {}
        for k, (number, cluster, text) in enumerate(own[kind]):
            if text in seen:
                raise DataError(
                    f"[{kind}] {text!r} stands on line {seen[text]} already.", "Remove one.", file=path, line=number
                )
            seen[text] = number
            attributes.append(Attribute(kind, cluster, {head: rows[k][2] for head, rows in own.items()}))
    return attributes


def _templates(
    path: Path, hasher: hashlib._Hash, masked: bool, subjects: tuple[Subject, ...], attributes: list[Attribute]
) -> tuple[Template, ...]:
    heads = {head for attribute in attributes for head in attribute.forms}
    templates = []
    for number, line in _lines(path, hasher):

        def fail(problem: str, remedy: str, number: int = number) -> DataError:
            return DataError(problem, remedy, file=path, line=number)

        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3:
            raise fail(
                f"expected context TAB question TAB negated question, got {len(cells)} columns.", "Separate by tabs."
            )
        context, asked, negated = cells
        slot = "subj:dem" if "[subj1:dem]" in context else "subj"
        for place in (1, 2):
            name = f"[{slot.replace('subj', f'subj{place}')}]"
            if context.count(name) != 1:
                raise fail(f"the context needs the slot {name} exactly once: {context!r}.", "Both subjects must occur.")
        if any(slot not in subject.forms for subject in subjects):
            raise fail(f"the context wants [{slot}], which the subjects do not have.", "Add those lines to them.")
        found = [re.findall(r"\[([pl]_act[^\]]*)\]", text) for text in (asked, negated)]
        if any(len(names) != 1 for names in found):
            raise fail("each question needs one slot like [p_act].", "Write the attribute's slot into both questions.")
        head = found[0][0]
        if found[1][0] != f"{head}:neg":
            raise fail(
                f"the negated question has [{found[1][0]}], expected [{head}:neg].", "Use the same head negated."
            )
        if head not in heads:
            raise fail(f"no attribute has the head [{head}].", f"Use one of {', '.join(sorted(heads))}.")
        if any(text.count("[mask]") != int(masked) for text in (asked, negated)):
            wanted = "exactly one [mask]" if masked else "no [mask]"
            raise fail(f"each {'sentence' if masked else 'question'} needs {wanted}.", "Correct the line.")
        templates.append(Template(context, asked, negated, slot, head))
    if not templates:
        raise DataError("there is no template.", "Add at least one line.", file=path)
    return tuple(templates)


def _kind(head: str) -> str:
    return re.split("[-:]", head)[0]
