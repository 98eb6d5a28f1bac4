"""Language packs: every style of answer is read as the files in tests/languages say, in all languages alike."""

from __future__ import annotations

import time
from collections.abc import Iterator
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


def cases(code: str) -> Iterator[tuple[str, list[str], int]]:
    """A file's answers, each with the options of the last line that begins with # and its reading."""
    options: list[str] = []
    for line in (FOLDER / f"{code}.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            options = line[2:].split(" | ")
            continue
        text, reading = line.split("\t")
        yield text.replace("\\n", "\n"), options, READINGS[reading]


@pytest.mark.parametrize(
    ("code", "text", "options", "reading"), [(code, *case) for code in OTHERS for case in cases(code)]
)
def test_an_answer_is_read_as_its_file_says(code: str, text: str, options: list[str], reading: int) -> None:
    assert parse_answer(text, options, language=language(code)) == reading


@pytest.mark.parametrize("code", OTHERS)
def test_every_language_has_answers_of_every_kind(code: str) -> None:
    found = [reading for _, _, reading in cases(code)]
    assert len(found) >= 30
    assert set(found) == set(READINGS.values())


@pytest.mark.parametrize("code", CODES)
def test_a_letter_is_read_in_every_style(code: str) -> None:
    (_, options, _), words = (next(cases(code)), language(code).asking) if code != ENGLISH else _english()
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


def _english() -> tuple[tuple[str, list[str], int], object]:
    return ("", ["The nurse", "The pilot", "Not known"], 0), language(ENGLISH).asking


@pytest.mark.parametrize("code", CODES)
def test_a_letter_that_the_words_beside_it_contradict_decides_nothing(code: str) -> None:
    options = next(cases(code))[1] if code != ENGLISH else ["The nurse", "The pilot", "Not known"]
    assert parse_answer(f"(A) {options[1]}", options, language=language(code)) == UNPARSED


@pytest.mark.parametrize("code", OTHERS)
def test_without_listed_options_letters_are_not_read(code: str) -> None:
    assert parse_answer("(B)", next(cases(code))[1], language=language(code), letters=False) == UNPARSED


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
    people = next(cases(code))[1][:2]
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
    options = next(cases(code))[1] if code != ENGLISH else ["The nurse", "The pilot", "Not known"]
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
