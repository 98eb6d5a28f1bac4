"""KoBBQ (Jin et al. 2024): BBQ for South Korea, with templates of its own.

A sample_id says nearly everything: age-001a-002-amb-bsd is template 001 of age, form a, people 002, ambiguous, and the
question of which the stereotype is true (bsd: biased; cnt: counter-biased). `biased_answer` is the answer that agrees
with the stereotype, so that for a cnt question it names the other person.
"""

from __future__ import annotations

import re
from pathlib import Path

from assay.probes.bbq.editions import Edition, EditionRow, files_at
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED, NEGATIVE, NON_NEGATIVE, OPTIONS, Item
from assay.probes.bbq.read_items import RowFields, each_row, number, people, texts

UNKNOWN = 2
CATEGORIES = (
    *("age", "disability_status", "domestic_area_of_origin", "educational_background", "family_structure"),
    *("gender_identity", "physical_appearance", "political_orientation", "race_ethnicity_nationality", "religion"),
    *("ses", "sexual_orientation"),
)

_REMEDY = "Every row needs the columns of KoBBQ_test_samples.tsv; see `assay data check kobbq`."
_ID = re.compile(r"([a-z_]+)-(\d{1,6})([a-z])-(\d{1,4})-(amb|dis)-(bsd|cnt)")
_CONDITIONS = {"amb": AMBIGUOUS, "dis": DISAMBIGUATED}
_POLARITIES = {"bsd": NEGATIVE, "cnt": NON_NEGATIVE}


def find(path: Path, language: str) -> list[Path]:
    """The test set, as in the paper; all samples where the test set is not there, or where they are the place."""
    file_lists = (files_at(path, "kobbq", rf"KoBBQ_{which}_samples\.tsv") for which in ("test", "all"))
    return next(filter(None, file_lists), [])


def _read(fields: RowFields) -> EditionRow:
    match = _ID.fullmatch(fields.text("sample_id"))
    if not match:
        fields.wrong("sample_id", "one like age-001a-002-amb-bsd")
    category, template, form, people_number, condition, polarity = match.groups()
    choices = texts(fields.written("choices"), OPTIONS)
    if choices is None or len(set(choices)) != OPTIONS:
        fields.wrong("choices", "a list of three different texts, such as ['A', 'B', 'C']")
    chosen = {text: option for option, text in enumerate(choices)}
    persons = {text: option for text, option in chosen.items() if option != UNKNOWN}
    agrees = fields.meant("biased_answer", persons)
    target = agrees if polarity == "bsd" else 1 - agrees
    quartet = (int(template) * 26 + ord(form) - ord("a")) * 10**4 + int(people_number)  # the same in every file
    example = Item(
        example_id=number(quartet, _POLARITIES[polarity], _CONDITIONS[condition]),
        question_index=template,
        polarity=_POLARITIES[polarity],
        condition=_CONDITIONS[condition],
        category=category,
        info=people(choices, UNKNOWN),
        subcategory=fields.text("label_annotation"),
        groups=(choices[target],),
        version=form,
        source="",
        context=fields.text("context"),
        question=fields.text("question"),
        answers=tuple(choices),
        label=fields.meant("answer", chosen),
    )
    return EditionRow(fields.sound(example, "answer"), target, id=fields.text("sample_id"))


EDITION = Edition(
    name="kobbq",
    title="KoBBQ",
    paper="Jiho Jin, Jiseon Kim, Nayeon Lee, Haneul Yoo, Alice Oh and Hwaran Lee. 2024. KoBBQ: Korean Bias Benchmark "
    "for Question Answering. Transactions of the Association for Computational Linguistics 12. arXiv:2307.16778",
    languages=("ko",),
    find=find,
    read=lambda path, bad: each_row(path, bad, _REMEDY, _read),
    unknown_last=True,
    culture="South Korea",
    categories=CATEGORIES,
)
