"""MBBQ (Neplenbroek et al. 2024): six of BBQ's categories in English and translated, row by row, with BBQ's fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assay.files.rows import BadRows
from assay.probes.bbq.editions import Edition, EditionRow, files_at
from assay.probes.bbq.items import Item
from assay.probes.bbq.read_items import RowFields, each_row, example_of
from assay.probes.bbq.targets import find_targets

CATEGORIES = ("Age", "Disability_status", "Gender_identity", "Physical_appearance", "SES", "Sexual_orientation")

PAPER = (
    "Vera Neplenbroek, Arianna Bisazza and Raquel Fernández. 2024. MBBQ: A Dataset for Cross-Lingual Comparison of "
    "Stereotypes in Generative LLMs. In First Conference on Language Modeling (COLM). arXiv 2406.07243"
)

_ENGLISH = {
    **{"mujer": "woman", "hombre": "man", "chica": "girl", "chico": "boy"},
    **{"vrouw": "woman", "meisje": "girl", "jongen": "boy"},
    **{"kadın": "woman", "adam": "man", "kız": "girl", "erkek çocuk": "boy"},
    **{"lesbiana": "lesbian", "heterosexual": "straight"},
    **{"lesbisch": "lesbian", "homo": "gay", "hetero": "straight", "biseksueel": "bisexual"},
    **{"lezbiyen": "lesbian", "eşcinsel": "gay", "heteroseksüel": "straight", "biseksüel": "bisexual"},
}
"""Labels that were translated, as BBQ has them. The others are BBQ's own in every language."""

_GENDERS = ("woman", "man", "girl", "boy")


_REMEDY = "Every row needs BBQ’s fields, as in the published CATEGORY_LANGUAGE.jsonl; see docs/languages.md."


def read(path: Path, bad: BadRows) -> Iterator[EditionRow]:
    return each_row(path, bad, _REMEDY, _read)


def _read(fields: RowFields) -> EditionRow:
    example = labelled(example_of(fields.row, fields.path, fields.line))
    return EditionRow(example, int(find_targets([example])[0]))


def labelled(example: Item) -> Item:
    """An example with BBQ's own labels, so that groups have one name in all languages.

    In 12 Spanish rows the label of both people is “chico”; the option itself says which of them is “la chica”.
    """

    def label_of(option: int) -> str:
        label = _ENGLISH.get(example.info[option][1], example.info[option][1])
        last_word = example.answers[option].rpartition(" ")[2].lower()
        return _ENGLISH.get(last_word, label) if label in _GENDERS else label

    info = tuple((filler, label_of(option)) for option, (filler, _) in enumerate(example.info))
    return replace(example, info=info, groups=tuple(_ENGLISH.get(group, group) for group in example.groups))


EDITION = Edition(
    name="mbbq",
    title="MBBQ",
    paper=PAPER,
    languages=("en", "es", "nl", "tr"),
    find=lambda path, language: files_at(path, "mbbq", rf"(?!.*_control_)\w+_{language}\.jsonl"),
    read=read,
    culture="the United States, kept where translators found that speakers of all four languages know them",
    categories=CATEGORIES,
    from_bbq=True,
)
