"""BasqBBQ (Zulaika and Saralegi 2025): eight of BBQ's categories in Basque, with its fields and Basque names.

Each category is in CATEGORY.jsonl, or in CATEGORY_ambig.jsonl and CATEGORY_disambig.jsonl. A label that is NaN (184
rows of Nazionalitate have one, for “txinatar”) is read as blank.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from assay.asking.queries import NONE
from assay.probes.bbq.editions import Edition, EditionRow, files_at
from assay.probes.bbq.items import UNKNOWN_LABEL
from assay.probes.bbq.read_items import RowFields, each_row, example_of, stem

_REMEDY = "Every row needs the fields of BBQ's files; see `assay data check basqbbq`."
_HALF = re.compile("_(dis)?ambig$")


def find(path: Path, language: str) -> list[Path]:
    folders = (path / "data" / "BasqBBQ", path)  # in a checkout, or elsewhere
    files = next(filter(None, (files_at(folder, "basqbbq", r"[A-Z]\w+\.jsonl") for folder in folders)), [])
    complete = {stem(file) for file in files if not _HALF.search(stem(file))}
    return [file for file in files if stem(file) in complete or _HALF.sub("", stem(file)) not in complete]


def _read(fields: RowFields) -> EditionRow:
    info = fields.row.get("answer_info")
    blank = {name: _blank(labels) for name, labels in info.items()} if isinstance(info, dict) else info
    example = example_of({**fields.row, "answer_info": blank}, fields.path, fields.line)
    groups = {group.casefold() for group in example.groups}
    labels = [(label or filler).casefold() for filler, label in example.info]
    targets = [option for option, label in enumerate(labels) if label != UNKNOWN_LABEL and label in groups]
    return EditionRow(example, targets[0] if len(targets) == 1 else NONE)


def _blank(pair: Any) -> Any:
    """An option's filler and label, "" in place of NaN."""
    return ["" if text != text else text for text in pair] if isinstance(pair, list) else pair


EDITION = Edition(
    name="basqbbq",
    title="BasqBBQ",
    paper="Muitze Zulaika and Xabier Saralegi. 2025. BasqBBQ: A QA Benchmark for Assessing Social Biases in LLMs for "
    "Basque, a Low-Resource Language. In Proceedings of the 31st International Conference on Computational Linguistics",
    languages=("eu",),
    find=find,
    read=lambda path, bad: each_row(path, bad, _REMEDY, _read),
    on_real_files=False,
    culture="the Basque Country",
)
