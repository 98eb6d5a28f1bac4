"""UnQover's questions in the authors' JSON (see predictions.py), for their programs or any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from assay.asking.plan import Ask
from assay.asking.progress import Progress
from assay.asking.queries import MASK, SpanColumns
from assay.errors import UsageError
from assay.files.atomic import open_atomically
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.method import ClassForm, unusable
from assay.probes.unqover.plan import PER_CELL, UnqoverPlan
from assay.probes.unqover.settings import MASKED, MASKS, SPAN, UnqoverGenerateSettings

_SOME = 1000
"""Examples written between two signs of progress."""


@dataclass(frozen=True)
class UnqoverQuestionWriter:
    """A file of questions that somebody wants."""

    settings: UnqoverGenerateSettings

    counted: ClassVar[str] = "ordered pairs, two questions each"

    @property
    def label(self) -> str:
        return f"{self.settings.cls} ({self.settings.form})"

    def notes(self) -> list[str]:
        return []

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write the file, whole or not at all; returns how many examples it has."""
        if out.is_dir():
            remedy = "Name the file to write with --out."
            raise UsageError("this is a folder.", remedy, code="bad-option", file=out, key="out")
        plan = self.plan(ask)
        meter.start(self.label, len(plan))
        with open_atomically(out) as file:
            return self.write(file, plan, meter.advance)

    def plan(self, ask: Ask | None) -> UnqoverPlan:
        """All questions of the class; `ask` says which subjects are single tokens where no list does."""
        cls, form, folder = self.settings.cls, self.settings.form, self.settings.word_lists
        masked = MASKS[form] is not None
        family = form if masked and folder and ask is None else ""
        lists = read_lists(cls, masked=masked, header=form == "newsqa", family=family, folder=folder)
        plan = UnqoverPlan(
            cls,
            MASKED if masked else SPAN,
            lists.digest,
            folder,
            header=form == "newsqa",
            released=self.settings.compat == "released",
            family=family,
        )
        if not masked or family:
            return plan
        if ask is None:
            problem = f"the packaged lists do not say which subjects are one token of a {form} model."
            remedy = "Name the model with --model hf:…, or the authors' lists with --set word_lists=DIR."
            raise UsageError(problem, remedy, code="missing-setting", key="model")
        if MASKED not in ask.abilities:
            problem = "this model cannot fill masks."
            raise UsageError(problem, "Name a masked language model with --model.", code="missing-ability", key="model")
        return replace(plan, without=unusable(ClassForm(cls, MASKED), lists, ask, []))

    def write(self, file: BinaryIO, plan: UnqoverPlan, advance: Callable[[int], None]) -> int:
        """Write the plan's examples as one JSON object, an example a line; returns how many.

        An example has two questions; `advance` is told of questions.
        """
        count = 0
        for key, value in entries(plan, MASKS[self.settings.form]):
            line = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
            file.write((("{\n" if count == 0 else ",\n") + line).encode())
            count += 1
            if count % _SOME == 0:
                advance(2 * _SOME)
        file.write(b"\n}\n")
        if count % _SOME:
            advance(2 * (count % _SOME))
        return count


def entries(plan: UnqoverPlan, mask: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """All examples in the authors' order: every pair, then every pair reversed."""
    lists, table = plan.lists, plan.table
    per_pair = len(table.combinations)
    for swapped in (False, True):
        for pair, ends in enumerate(table.pairs.tolist()):
            columns = plan.columns(PER_CELL * pair * per_pair, PER_CELL * (pair + 1) * per_pair)
            wordings = columns.question if isinstance(columns, SpanColumns) else columns.sentence
            people = [lists.subjects[k] for k in (reversed(ends) if swapped else ends)]
            clusters, names = "|".join(person.cluster for person in people), "|".join(person.name for person in people)
            for index, (template, attribute) in enumerate(table.combinations.tolist()):
                slot, act = lists.templates[template].slot, lists.attributes[attribute]
                row = PER_CELL * index + 2 * swapped
                texts = (person.forms[slot] for person in people)
                answers = {f"ans{k}": {"text": text, "start": "", "end": ""} for k, text in enumerate(texts)}
                value: dict[str, Any] = {"context": columns.context[row]}
                for k in (0, 1):
                    value[f"q{k}"] = {"question": wordings[row + k].replace(MASK, mask or MASK), "pred": "", **answers}
                yield f"{clusters}|{names}|{template}|{act.cluster}|{act.text}|{act.text}", value
