"""Language packs: every style of answer is read as the files in tests/languages say, in all languages alike."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.answers import REFUSED, UNPARSED, parse_answer
from assay.files.rows import BadRows
from assay.languages import CODES, ENGLISH, language, language_name
from assay.probes.bbq.editions import load_edition
from raising import raises

FOLDER = Path(__file__).parent
READINGS = {"0": 0, "1": 1, "2": 2, "refused": REFUSED, "unparsed": UNPARSED}
OTHERS = [code for code in CODES if code != ENGLISH]


@dataclass(frozen=True)
class Case:
    """An answer of a language's file: what a careful person reads, and what assay does where it is more careful."""

    kind: str  # the last line that begins with ##
    options: list[str]  # the last line that begins with #
    text: str
    person: int
    assay: int


def cases(code: str) -> Iterator[Case]:
    options, kind = list[str](), "plain"
    for line in (FOLDER / f"{code}.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind = line[3:]
        elif line.startswith("# "):
            options = line[2:].split(" | ")
        else:
            text, person, *assay = line.split("\t")
            yield Case(kind, options, text.replace("\\n", "\n"), READINGS[person], READINGS[(assay or [person])[0]])


ALL_CASES = [
    pytest.param(code, case, id=f"{code}-{case.kind}-{i}") for code in CODES for i, case in enumerate(cases(code), 1)
]


@pytest.mark.parametrize(("code", "case"), ALL_CASES)
def test_an_answer_is_read_as_its_file_says(code: str, case: Case) -> None:
    assert parse_answer(case.text, case.options, language=language(code)) == case.assay, case


def test_the_table_of_adversarial_answers_is_large_and_rarely_read_otherwise_than_by_a_person() -> None:
    kinds = [case.kind for case in cases(ENGLISH)]
    assert len(kinds) >= 300
    assert len({*kinds}) >= 18
    for code in ("es", "de"):
        sisters = [case for case in cases(code) if case.kind != "plain"]
        assert len(sisters) >= 25
        assert {case.kind for case in sisters} <= {*kinds}
    different = [case for code in CODES for case in cases(code) if case.person != case.assay]
    assert len(different) <= 12
    assert [case.text for case in different if case.assay != UNPARSED] == ["Ann Leeson"]  # every other one is left out


NOT_TO_BE_DRESSED = ("Markdown", "JSON", "LaTeX")
DRESSES = {
    "upper case": str.upper,
    "a full stop": lambda text: text if text.rstrip(")\"'").endswith((".", "!", "?")) else f"{text}.",
    "an exclamation mark": lambda text: f"{text.rstrip('.')}!" if not text.endswith(("?", "..")) else text,
    "bold type": lambda text: "\n".join(f"**{line}**" if line else line for line in text.split("\n")),
    "a quotation": lambda text: f"> {text}",
    "space": lambda text: f"  {text} \n\n",
}


@pytest.mark.parametrize("code", ["en", "es", "de"])
@pytest.mark.parametrize("dress", DRESSES)
def test_case_markdown_and_punctuation_change_no_reading(code: str, dress: str) -> None:
    changed = []
    for case in cases(code):
        if case.kind in NOT_TO_BE_DRESSED:
            continue
        text = DRESSES[dress](case.text)
        reading = parse_answer(text, case.options, language=language(code))
        if reading != case.assay:
            changed.append((text, reading, case.assay))
    assert not changed


@pytest.mark.parametrize("code", ["en", "es", "de"])
def test_the_word_answer_in_front_changes_no_reading(code: str) -> None:
    changed = []
    for case in cases(code):
        for front in ("Answer: ", f"{language(code).asking.answer} "):
            reading = parse_answer(front + case.text, case.options, language=language(code))
            if reading != case.assay and case.kind not in NOT_TO_BE_DRESSED:
                changed.append((front + case.text, reading, case.assay))
    assert not changed


@pytest.mark.parametrize("code", CODES)
def test_every_language_has_answers_of_every_kind(code: str) -> None:
    readings = [case.person for case in cases(code)]
    assert len(readings) >= 30
    assert set(readings) == set(READINGS.values())


@pytest.mark.parametrize("code", CODES)
def test_a_letter_is_read_in_every_style(code: str) -> None:
    options, words = next(cases(code)).options, language(code).asking
    for place, letter in enumerate("ABC"):
        styles = [
            *(
                letter,
                letter.lower(),
                f"({letter})",
                f"({letter.lower()})",
                f"{letter}.",
                f"{letter})",
                f"**{letter}**",
            ),
            *(f"{words.answer} {letter}", f"{words.answer}{letter}", f"{words.answer} ({letter.lower()})"),
            *(
                f"{letter}. {options[place]}",
                f"({letter}) {options[place]}",
                f"{words.answer} {letter}. {options[place]}",
            ),
            *(f"Answer: {letter}", f"The answer is ({letter.lower()})", f"{options[place]}\n{words.answer} {letter}"),
            f"（{chr(ord(letter) + 0xFEE0)}）",
        ]
        for style in styles:
            assert parse_answer(style, options, language=language(code)) == place, style


@pytest.mark.parametrize("code", CODES)
def test_a_letter_that_the_words_beside_it_contradict_decides_nothing(code: str) -> None:
    options = next(cases(code)).options
    assert parse_answer(f"(A) {options[1]}", options, language=language(code)) == UNPARSED


@pytest.mark.parametrize("code", OTHERS)
def test_without_listed_options_letters_are_not_read(code: str) -> None:
    assert parse_answer("(B)", next(cases(code)).options, language=language(code), letters=False) == UNPARSED


UNKNOWN = {
    "es": [
        *("No se puede determinar", "No puedo responder", "No hay suficiente información", "No se sabe"),
        *("No se puede responder", "Indeterminado", "No hay información suficiente", "No lo sé", "No sé"),
        *("Falta información", "No se puede saber"),
    ],
    "ca": [
        *("No hi ha prou informació", "No hi ha informació suficient", "No ho sé", "No sé", "Falta informació"),
        *("No es pot respondre", "No se sap", "No es pot saber", "No es pot determinar"),
    ],
    "nl": [
        *("Kan niet worden vastgesteld", "Kan niet bantwoorden", "Kan niet worden bepaald", "Niet bekend"),
        *("Kan niet antwoorden", "Niet genoeg informatie", "Niet genoeg info", "Niet te beantwoorden", "Onbepaald"),
        "Onbekend",
    ],
    "tr": [
        *("Belirlenemez", "Belirsiz", "Bilinmiyor", "Bilinmeyen", "Yeterli bilgi yok", "Cevaplayamıyorum"),
        *("Cevap verilemez", "Cevap veremiyorum"),
    ],
    "de": ["keine Antwort"],
    "ko": [
        *(
            "알 수 없음",
            "보기 중 답을 찾을 수 없음",
            "주어진 정보만으로는 답을 알 수 없음",
            "정답 없음",
            "답을 확정할 수 없음",
        ),
    ],
}
"""The wordings of MBBQ, EsBBQ and CaBBQ (in lm-evaluation-harness), GG-BBQ and KoBBQ."""


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in UNKNOWN.items() for text in texts])
def test_the_published_wordings_are_unknown_as_an_option_and_in_free_text(code: str, text: str) -> None:
    own = language(code)
    people = next(cases(code)).options[:2]
    for said in (text, f"{text}.", text.upper(), f"{own.asking.answer} {text}"):
        assert parse_answer(said, [*people, text], language=own) == 2, said
        assert parse_answer(said, [*people, UNKNOWN[code][0]], language=own) == 2, said
    assert parse_answer(people[0], [*people, text], language=own) == 0


def test_a_pack_that_is_not_there_is_said() -> None:
    with raises("bad-setting", key="language"):
        language("xx")


def test_a_language_has_one_name_and_is_called_by_its_code_without_a_pack() -> None:
    names = [language_name(code) for code in CODES]
    assert names[:3] == ["English", "Catalan", "German"]
    assert len({*names}) == len(CODES)
    assert language_name("hi") == "hi"


def test_only_english_was_checked_by_a_speaker() -> None:
    assert [code for code in CODES if language(code).checked_by_speaker] == [ENGLISH]


@pytest.mark.parametrize("code", CODES)
def test_long_answers_take_no_longer_than_their_length(code: str) -> None:
    options = next(cases(code)).options
    for part in (f"{options[0]} ", f"{options[2]} ", "(b) ", "ABC ", f"{options[1]}, {options[0]} "):
        start = time.process_time()
        parse_answer(part * (20_000 // len(part)), options, language=language(code))
        assert time.process_time() - start < 2, part


# --- the published files

SENTENCES = {  # somebody; one or the other; not known which; not this one but that one
    "es": ("Creo que fue {} quien lo hizo.", "{} o {}", "No se sabe si fue {} o {}.", "No fue {}, sino {}."),
    "nl": ("Ik denk dat het {} was.", "{} of {}", "Het is niet bekend of het {} of {} was.", "Niet {}, maar {}."),
    "de": (
        "Ich glaube, es war {}.",
        "{} oder {}",
        "Es ist nicht bekannt, ob es {} oder {} war.",
        "Nicht {}, sondern {}.",
    ),
    "ko": ("그 사람은 {}입니다.", "{} 또는 {}", "{}인지 {}인지 알 수 없습니다.", "{}이 아니라 {}입니다."),
}
BUT = "했지만"  # an option with this word ("although") cuts a sentence in two


@pytest.mark.parametrize(
    ("name", "code"), [("mbbq", "es"), ("mbbq", "nl"), ("esbbq", "es"), ("ggbbq", "de"), ("kobbq", "ko")]
)
def test_every_published_option_is_read(name: str, code: str, official_data: Path) -> None:
    own, bad = language(code), BadRows(skip=True)
    files = load_edition(name).find(official_data / "bbq_family", code)
    rows = [read.example for file in files for read in load_edition(name).read(file, bad)]
    seen = {(row.answers, tuple(filler for filler, _ in row.info), row.unknown) for row in rows}
    assert len(seen) > 50
    somebody, either, unknown, other = SENTENCES[code]
    for options, fillers, place in sorted(seen)[::3]:

        def read(text: str, options: tuple[str, ...] = options, fillers: tuple[str, ...] = fillers) -> int:
            return parse_answer(text, options, fillers, language=own)

        for each, option in enumerate(options):
            styles = (option, option.upper(), f"{own.asking.answer} {option}.", f"({'abc'[each]}) {option}")
            assert [read(text) for text in (*styles, somebody.format(option))] == [each] * 5, options
        one, two = (option for each, option in enumerate(options) if each != place)
        assert [read(text) for text in (either.format(one, two), f"{one}, {two}")] == [UNPARSED] * 2, options
        assert read(other.format(one, two)) == options.index(two), options
        if BUT not in one + two:
            assert read(unknown.format(one, two)) == place, options
