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
from functools import lru_cache, partial
from pathlib import Path

from assay.asking.plan import digest_of
from assay.errors import DataError
from assay.files.opening import read_whole, reason

PACKAGED = Path(__file__).parents[2] / "data" / "unqover"


@dataclass(frozen=True)
class ClassFiles:
    """Which files make up a class of subjects. With two subject files, every pair has one subject of each."""

    subjects: tuple[str, ...]
    activities: str
    slots: str


FILES = {
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
class UnqoverTemplate:
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
class WordLists:
    """All that a class's questions are made of. With `split`, pairs join subjects before and after it."""

    subjects: tuple[Subject, ...]
    split: int | None
    attributes: tuple[Attribute, ...]
    templates: tuple[UnqoverTemplate, ...]
    header: str
    files: Mapping[str, str]  # what was read: name in the folder -> digest

    @property
    def digest(self) -> str:
        return digest_of(dict(self.files))


def read_lists(cls: str, *, masked: bool, header: bool, family: str = "", folder: str | None = None) -> WordLists:
    """The lists of a class, from a folder in the authors' format or the packaged ones.

    masked: templates with a masked sentence instead of questions. header: for models trained on NewsQA.
    family: "bert" or "roberta" reads the authors' lists of subjects that are single tokens there.
    """
    root, files = Path(folder).expanduser().resolve() if folder else PACKAGED, FILES[cls]
    suffix = f"_{family}" if family else ""
    names = [f"nouns/subjects/{name}{suffix}" for name in files.subjects]
    names += [f"activities/{files.activities}", f"slots/{files.slots}{'_lm' if masked else ''}"]
    names += ["fillers/newsqa"] if header else []
    return _read_lists(root, tuple(names), len(files.subjects), masked, tuple(_stamp(root / name) for name in names))


def _stamp(path: Path) -> tuple[int, int] | None:
    """Changes when the file does; None where there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def regions() -> dict[str, str]:
    """The UN geoscheme of every country of the packaged lists."""
    return {subject.name: subject.cluster for subject in read_lists("nationality", masked=False, header=False).subjects}


@lru_cache(maxsize=64)
def _read_lists(root: Path, names: tuple[str, ...], groups: int, masked: bool, stamps: tuple[object, ...]) -> WordLists:
    """Lists are asked for with every block; the stamps make sure that changed files are read again."""
    files = {name: WordListFile.read(root / name) for name in names}
    people = [_subjects(files[name]) for name in names[:groups]]
    subjects = tuple(subject for group in people for subject in group)
    if len(subjects) < 2:
        remedy = "List at least two: they are compared."
        raise DataError("there is only one subject.", remedy, code="bad-list", file=root / names[0])
    attributes = _attributes(files[names[groups]])
    templates = _templates(files[names[groups + 1]], masked, subjects, attributes)
    header = next((text for name in names[groups + 2 :] for _, text in files[name].lines()), "")
    used = {template.kind for template in templates}
    return WordLists(
        subjects=subjects,
        split=len(people[0]) if groups == 2 else None,
        attributes=tuple(attribute for attribute in attributes if attribute.kind in used),
        templates=templates,
        header=header,
        files={name: hashlib.sha256(file.content).hexdigest() for name, file in files.items()},
    )


@dataclass(frozen=True)
class WordListFile:
    """A word list as it lies on disk."""

    path: Path
    content: bytes

    @staticmethod
    def read(path: Path) -> WordListFile:
        try:
            return WordListFile(path, read_whole(path))
        except OSError as error:
            raise DataError(
                f"this word list cannot be read ({reason(error)}).",
                "A folder of word lists holds nouns/subjects, activities, slots and fillers; see --set word_lists=DIR.",
                code="missing-file" if isinstance(error, FileNotFoundError) else "unreadable-file",
                file=path,
            ) from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and text of every line that is neither blank nor a comment."""
        for number, raw in enumerate(self.content.split(b"\n"), 1):
            try:
                line = raw.decode("utf-8").strip("\r ").lstrip("\ufeff")
            except UnicodeDecodeError:
                remedy = "Save the file as UTF-8 and try again."
                raise self.bad("this line is not UTF-8.", remedy, number, code="unreadable-file") from None
            if line.strip() and not line.startswith("#"):
                yield number, line

    def bad(
        self, problem: str, remedy: str, line: int | None = None, *, code: str, key: str | None = None
    ) -> DataError:
        return DataError(problem, remedy, code=code, file=self.path, line=line, key=key)


def _entries(file: WordListFile, heads: str) -> dict[str, list[tuple[int, str, str]]]:
    """Lines by head: (line number, cluster, text)."""
    entries: dict[str, list[tuple[int, str, str]]] = {}
    for number, line in file.lines():
        match = re.match(rf"\[({heads})\]", line)
        cluster, _, text = (part.strip() for part in line[match.end() if match else 0 :].rpartition("|"))
        if match is None or "|" in cluster or not text:
            problem = f"expected `[head] cluster | text` with a head like {heads.split('|')[0]}, got {line!r}."
            remedy = "Correct the line, or begin it with # to leave it out."
            raise file.bad(problem, remedy, number, code="bad-row")
        entries.setdefault(match[1], []).append((number, cluster or "None", text))
    return entries


def _require_aligned(file: WordListFile, entries: Mapping[str, list[tuple[int, str, str]]], base: str) -> None:
    n = len(entries[base])
    for head, rows in entries.items():
        if len(rows) != n:
            problem = f"[{head}] has {len(rows)} entries, but [{base}] has {n}: they must correspond one to one."
            remedy = "Add the missing entries or remove those too many."
            raise file.bad(problem, remedy, rows[-1][0], code="bad-list", key=head)


def _require_once(file: WordListFile, head: str, rows: list[tuple[int, str, str]]) -> None:
    lines: dict[str, int] = {}
    for number, _, text in rows:
        if text in lines:
            problem = f"[{head}] {text} is already on line {lines[text]}."
            raise file.bad(problem, "Remove one.", number, code="duplicate", key=head)
        lines[text] = number


def _subjects(file: WordListFile) -> list[Subject]:
    entries = _entries(file, "subj|subj:dem")
    if "subj" not in entries:
        raise file.bad("there is no [subj] line.", "List at least one subject.", code="missing-key", key="subj")
    _require_aligned(file, entries, "subj")
    for head, rows in entries.items():
        _require_once(file, head, rows)
    forms = [{head: rows[k][2] for head, rows in entries.items()} for k in range(len(entries["subj"]))]
    return [Subject(entries["subj"][k][1], texts) for k, texts in enumerate(forms)]


def _attributes(file: WordListFile) -> list[Attribute]:
    heads = "|".join(f"{kind}{form}" for kind in ("p_act", "l_act") for form in ("", ":neg", "-single", "-single:neg"))
    entries = _entries(file, heads)
    attributes = []
    for kind in ("l_act", "p_act"):
        kind_entries = {head: rows for head, rows in entries.items() if _kind(head) == kind}
        if not kind_entries:
            continue
        if kind not in kind_entries:
            problem = f"there are [{next(iter(kind_entries))}] lines but no [{kind}] lines."
            raise file.bad(problem, "Add them.", code="missing-key", key=kind)
        _require_aligned(file, kind_entries, kind)
        for head, rows in kind_entries.items():
            if not head.endswith(":neg") and f"{head}:neg" not in kind_entries:
                negated = f"{head}:neg"
                problem = (
                    f"[{head}] has {len(rows)} entries, but [{negated}] has 0: every attribute needs its negation."
                )
                remedy = "Add an antonym or a `never` form for each."
                raise file.bad(problem, remedy, rows[-1][0], code="missing-key", key=negated)
        _require_once(file, kind, kind_entries[kind])
        attributes += [
            Attribute(kind, cluster, {head: rows[k][2] for head, rows in kind_entries.items()})
            for k, (_, cluster, _) in enumerate(kind_entries[kind])
        ]
    return attributes


def _templates(
    file: WordListFile, masked: bool, subjects: tuple[Subject, ...], attributes: list[Attribute]
) -> tuple[UnqoverTemplate, ...]:
    heads = {head for attribute in attributes for head in attribute.forms}
    templates = []
    for number, line in file.lines():
        fail = partial(file.bad, line=number, code="bad-text")
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3:
            problem = f"expected context TAB question TAB negated question, got {len(cells)} columns."
            raise fail(problem, "Separate by tabs.", code="bad-row")
        context, asked, negated = cells
        slot = "subj:dem" if "[subj1:dem]" in context else "subj"
        people = [slot.replace("subj", f"subj{i}") for i in (1, 2)]
        for name in people:
            if context.count(f"[{name}]") != 1:
                problem = f"the context needs the slot [{name}] exactly once: {context!r}."
                raise fail(problem, "Both subjects must occur.", key=name)
        if any(slot not in subject.forms for subject in subjects):
            problem = f"the context needs [{slot}], which the subjects do not have."
            raise fail(problem, "Add those lines to them.", code="missing-key", key=slot)
        acts, negated_acts = (re.findall(r"\[([pl]_act[^\]]*)\]", text) for text in (asked, negated))
        if len(acts) != 1 or len(negated_acts) != 1:
            remedy = "Write the attribute's slot into both questions."
            raise fail("each question needs one slot like [p_act].", remedy, key="p_act")
        (head,), (negated_head,) = acts, negated_acts
        if negated_head != f"{head}:neg":
            problem = f"the negated question has [{negated_head}], expected [{head}:neg]."
            raise fail(problem, "Use the same head negated.", key=negated_head)
        if head not in heads:
            remedy = f"Use one of {', '.join(sorted(heads))}."
            raise fail(f"no attribute has the head [{head}].", remedy, code="unknown-key", key=head)
        if any(text.count("[mask]") != int(masked) for text in (asked, negated)):
            masks = "exactly one [mask]" if masked else "no [mask]"
            raise fail(f"each {'sentence' if masked else 'question'} needs {masks}.", "Correct the line.", key="mask")
        for text, slots in ((context, people), (asked, (head, "mask")), (negated, (negated_head, "mask"))):
            for name in re.findall(r"\[([^\]]+)\]", text):
                if name not in slots:
                    problem = f"nothing can fill the slot [{name}] of {text!r}."
                    raise fail(problem, "Write it out, or remove it.", code="unknown-key", key=name)
        templates.append(UnqoverTemplate(context, asked, negated, slot, head))
    if not templates:
        raise file.bad("there is no template.", "Add at least one line.", code="empty-file")
    return tuple(templates)


def _kind(head: str) -> str:
    return re.split("[-:]", head)[0]
