"""UnQover's questions in the authors' JSON (see predictions.py), for their programs or any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from assay.engine.progress import Progress
from assay.errors import UsageError
from assay.files.atomic import open_atomically
from assay.plan import Ask
from assay.probes import Request
from assay.probes.unqover import Part, UnQover
from assay.probes.unqover.lists import CLASSES, Attribute, Lists, Subject, read_lists
from assay.probes.unqover.plan import PER_CELL, UnqoverPlan
from assay.queries import MASK, MaskColumns, SpanColumns

MASKS = {"qa": None, "newsqa": None, "bert": "[MASK]", "roberta": "<mask>"}
"""form -> how the mask is written, for masked language models"""

CHOICES = {"class": tuple(CLASSES), "form": tuple(MASKS), "compat": ("paper", "released")}

_SOME = 1000
"""Examples written between two signs of progress."""


@dataclass(frozen=True)
class Generation:
    """A file of questions that somebody wants."""

    cls: str
    form: str = "qa"
    word_lists: str | None = None
    compat: str = "paper"

    counted: ClassVar[str] = "ordered pairs, two questions each"

    @property
    def label(self) -> str:
        return f"{self.cls} ({self.form})"

    def notes(self) -> list[str]:
        return []

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write the file, whole or not at all; returns how many examples it has."""
        if out.is_dir():
            raise UsageError(f"{out}: this is a folder.", "Name the file to write with --out.")
        plan = self.plan(ask)
        meter.start(self.label, len(plan))
        with open_atomically(out) as file:
            return self.write(file, plan, meter.advance)

    @staticmethod
    def parse(given: Mapping[str, str]) -> Generation:
        """
        >>> Generation.parse({"class": "religion", "form": "bert", "word_lists": "DIR"}).form
        'bert'
        """
        known = (*CHOICES, "word_lists")
        for key, value in given.items():
            if key not in known:
                raise UsageError(f"there is no setting {key!r} here; there are {', '.join(known)}.", "--set class=…")
            if key in CHOICES and value not in CHOICES[key]:
                raise UsageError(f"{key} is {value!r}, expected one of {', '.join(CHOICES[key])}.", f"--set {key}=…")
        if "class" not in given:
            raise UsageError(f"which class of subjects? One of {', '.join(CLASSES)}.", "--set class=gender")
        return Generation(given["class"], **{key: value for key, value in given.items() if key != "class"})

    def plan(self, ask: Ask | None) -> UnqoverPlan:
        """All questions of the class; `ask` says which subjects are single tokens where no list does."""
        masked = MASKS[self.form] is not None
        family = self.form if masked and self.word_lists and ask is None else ""
        lists = read_lists(self.cls, masked=masked, header=self.form == "newsqa", family=family, folder=self.word_lists)
        plan = UnqoverPlan(
            self.cls,
            "mask" if masked else "span",
            lists.digest,
            self.word_lists,
            header=self.form == "newsqa",
            released=self.compat == "released",
            family=family,
        )
        if not masked or family:
            return plan
        if ask is None:
            raise UsageError(
                f"the packaged lists do not say which subjects are one token of a {self.form} model.",
                "Name the model with --model hf:…, or the authors' lists with --set word_lists=DIR.",
            )
        settings = {"class": self.cls, "form": "mask"} | ({"word_lists": self.word_lists} if self.word_lists else {})
        probe = UnQover(Request("paper", settings=settings))
        return replace(plan, without=probe.plans(ask)[Part(self.cls, "mask")].without)

    def write(self, file: BinaryIO, plan: UnqoverPlan, advance: Callable[[int], None]) -> int:
        """Write the plan's examples as one JSON object, an example a line; returns how many.

        An example has two questions; `advance` is told of questions.
        """
        count = 0
        for key, value in entries(plan, MASKS[self.form]):
            line = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
            file.write((("{\n" if count == 0 else ",\n") + line).encode())
            count += 1
            if count % _SOME == 0:
                advance(2 * _SOME)
        file.write(b"\n}\n")
        if count % _SOME:
            advance(2 * (count % _SOME))
        return count


def generation(name: str, request: Request) -> Generation:
    """The generation that a user asks for."""
    return Generation.parse(request.settings or {})


def entries(plan: UnqoverPlan, mask: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """All examples in the authors' order: every pair, then every pair reversed."""
    lists, table = plan.lists, plan.table
    per_pair = len(table.combinations)
    for swapped in (False, True):
        for pair, ends in enumerate(table.pairs.tolist()):
            columns = plan.columns(PER_CELL * pair * per_pair, PER_CELL * (pair + 1) * per_pair)
            people = [lists.subjects[k] for k in (reversed(ends) if swapped else ends)]
            for place, (template, attribute) in enumerate(table.combinations.tolist()):
                row = PER_CELL * place + 2 * swapped
                yield _entry(lists, columns, row, people, template, lists.attributes[attribute], mask)


def _entry(
    lists: Lists,
    columns: SpanColumns | MaskColumns,
    row: int,
    people: Sequence[Subject],
    template: int,
    act: Attribute,
    mask: str | None,
) -> tuple[str, dict[str, Any]]:
    wordings = columns.question if isinstance(columns, SpanColumns) else columns.sentence
    answers = {
        f"ans{k}": {"text": person.forms[lists.templates[template].slot], "start": "", "end": ""}
        for k, person in enumerate(people)
    }
    clusters, names = "|".join(p.cluster for p in people), "|".join(p.name for p in people)
    value: dict[str, Any] = {"context": columns.context[row]}
    for k in (0, 1):
        value[f"q{k}"] = {"question": wordings[row + k].replace(MASK, mask or MASK), "pred": "", **answers}
    return f"{clusters}|{names}|{template}|{act.cluster}|{act.text}|{act.text}", value
