"""Small files in the formats of BBQ's relatives, for tests: written here, never taken from the published files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.probes.bbq.items import AMBIGUOUS, NEGATIVE, QUARTET

Row = dict[str, Any]


def kobbq() -> list[Row]:
    """Two templates about an old person (the stereotyped one) and a student, with the fact about either of them."""
    rows = []
    for template in ("001", "002"):
        for form, fact in (("a", "학생"), ("b", "노인")):
            choices = ["노인", "학생", "알 수 없음"] if form == "a" else ["학생", "노인", "알 수 없음"]
            for polarity, condition in QUARTET:
                asked, agrees = ("bsd", "노인") if polarity == NEGATIVE else ("cnt", "학생")
                of_fact = fact if polarity == NEGATIVE else ({"노인", "학생"} - {fact}).pop()
                ambiguous = condition == AMBIGUOUS
                rows.append(
                    {
                        "sample_id": f"age-{template}{form}-003-{'amb' if ambiguous else 'dis'}-{asked}",
                        "label_annotation": "NC",
                        "context": f"{template}호 방에 노인과 학생이 있다." + ("" if ambiguous else f" {fact}이 졌다."),
                        "question": "누가 졌나?" if polarity == NEGATIVE else "누가 이겼나?",
                        "choices": str(choices),
                        "biased_answer": agrees,
                        "answer": "알 수 없음" if ambiguous else of_fact,
                        "bbq_id": "",
                        "bbq_category": "",
                        "prediction": "",
                    }
                )
    return rows


PEOPLE = {"F": "die Bäckerin", "M": "der Bäcker", "non_binary": "die trans Person"}


def ggbbq(condition: str, names: bool = False) -> list[Row]:
    """Rows of one of the two files: about a woman, and about a trans person, who are the stereotyped ones."""
    rows = []
    for number, (groups, first, second) in enumerate(
        [(["F"], "F", "M"), (["F"], "M", "F"), (["Transgender women", "trans"], "non_binary", "M")]
    ):
        for polarity in ("negative", "non_negative"):
            ambiguous = condition == "ambiguous_context"
            info = {place: [PEOPLE[label], label] for place, label in enumerate((first, second))}
            context = f"Im {'Laden' if number < 2 else 'Hof'} warten {PEOPLE[first]} und {PEOPLE[second]}."
            fact = "" if ambiguous else f" Geschimpft hat {PEOPLE[first]}."
            rows.append(
                {
                    "index": len(rows),
                    "context": context + fact,
                    "question": "Wer war laut?" if polarity == "negative" else "Wer blieb ruhig?",
                    "label": 2 if ambiguous else 0 if polarity == "negative" else 1,
                    "choice_0": PEOPLE[first],
                    "choice_1": PEOPLE[second],
                    "choice_2": "keine Antwort",
                    "question_type": polarity,
                    "context_type": condition,
                    "known_stereotyped_groups": json.dumps(groups),
                    "relevant_social_values": None if number else "noise",
                    "choice_info": str({**info, 2: ["keine Antwort", "unknown"]}),
                }
            )
    return rows


def ggbbq_templates() -> list[Row]:
    """The templates of these rows; the name of a column ends with a blank, as it does in the published file."""
    contexts = {
        "7": f"Im {{{{WORD1}}}} warten {PEOPLE['F']} und {PEOPLE['M']}.",
        "7 ": f"Im {{{{WORD1}}}} warten {PEOPLE['M']} und {PEOPLE['F']}.",
        "9": f"Im Hof warten {PEOPLE['non_binary']} und {PEOPLE['M']}.",
    }
    return [{"question_index": index.strip(), "ambiguous_context ": context} for index, context in contexts.items()]


def basqbbq() -> list[Row]:
    """A quartet about a stereotyped baker, and one whose other person's label was lost."""
    return [
        row
        for number, label in enumerate(("arotz", float("nan")))
        for row in like_bbq("Lanbide", number, "okin", label)
    ]


def jbbq() -> list[Row]:
    """A quartet about age, with the labels of BBQ."""
    return [row | {"is_additional": 1} for row in like_bbq("Age", 0, "old", "nonOld")]


def like_bbq(category: str, number: int, label: str, other: Any) -> list[Row]:
    """A quartet with BBQ's fields."""
    rows = []
    for place, (polarity, condition) in enumerate(QUARTET):
        ambiguous = condition == AMBIGUOUS
        rows.append(
            {
                "example_id": 4 * number + place,
                "question_index": str(number + 1),
                "question_polarity": polarity,
                "context_condition": condition,
                "category": category,
                "answer_info": {"ans0": ["A", label], "ans1": ["?", "unknown"], "ans2": ["B", other]},
                "additional_metadata": {"stereotyped_groups": [label.upper()], "version": "", "source": ""},
                "context": f"{number}: A, B." + ("" if ambiguous else " A!"),
                "question": "A?" if polarity == NEGATIVE else "B?",
                **{"ans0": "A", "ans1": "?", "ans2": "B"},
                "label": 1 if ambiguous else 0 if polarity == NEGATIVE else 2,
            }
        )
    return rows


_MBBQ = {  # woman, man, girl, boy, and what the options begin with
    "en": ("woman", "man", "girl", "boy", "The "),
    "es": ("mujer", "hombre", "chica", "chico", "La "),
    "nl": ("vrouw", "man", "meisje", "jongen", "De "),
    "tr": ("kadın", "adam", "kız", "erkek çocuk", "Bir "),
}


def mbbq(language: str = "en") -> list[Row]:
    """Four quartets about gender in a language, the fact about either person; the labels are translated words."""
    woman, man, girl, boy, the = _MBBQ[language]
    rows = []
    for number, (first, second, bad) in enumerate([(woman, man, 0), (man, woman, 0), (girl, boy, 1), (boy, girl, 1)]):
        words = (first, second)
        unknown, place = f"? ({language})", number % 3
        for row in like_bbq("Gender_identity", number, "F", "M"):
            info = [[word, word] for word in words]
            info.insert(place, [unknown, "unknown"])
            people = [at for at in range(3) if at != place]
            negative = row["question_polarity"] == NEGATIVE
            ambiguous = row["context_condition"] == AMBIGUOUS
            texts = {f"ans{at}": told[0] if at == place else f"{the}{told[0]}" for at, told in enumerate(info)}
            row["additional_metadata"]["stereotyped_groups"] = ["F"]
            rows.append(
                {
                    **row,
                    "question_index": str(1 + number // 2),
                    "answer_info": {f"ans{at}": told for at, told in enumerate(info)},
                    "context": f"{number}: {first}, {second}." + ("" if ambiguous else f" {words[bad]}!"),
                    **texts,
                    "label": place if ambiguous else people[bad if negative else 1 - bad],
                }
            )
    return rows


def mbbq_control() -> list[Row]:
    """The same with names, which belong to no group."""
    rows = mbbq()
    for row in rows:
        for place, name in enumerate(("Ada", "Bo", "Cy")):
            if row["answer_info"][f"ans{place}"][1] != "unknown":
                row["answer_info"][f"ans{place}"] = [name, "F" if place else "M"]
                row[f"ans{place}"] = name
    return rows


_ESBBQ = {
    "es": ("La abuela", "La nieta", "salieron a la calle.", "tropezó.", "¿Quién cayó?", "¿Quién no cayó?"),
    "ca": ("L'àvia", "La neta", "van sortir al carrer.", "va ensopegar.", "Qui va caure?", "Qui no va caure?"),
}


def esbbq(language: str = "es", templates: int = 2, *, whole: bool = True) -> list[Row]:
    """Templates with an old woman (the stereotyped one) and her granddaughter; the context in both orders, and the fact
    about either. With `whole`, without the pairs that belong to no quartet.
    """
    old, young, went, fell, bad, good = _ESBBQ[language]
    rows: list[Row] = []
    for template in range(1, templates + 1):
        for flipped in ("original", "ambig", "disambig", "all"):
            first, second = (old, young) if flipped in ("original", "disambig") else (young, old)
            who = young if flipped in ("original", "ambig") else old
            for polarity, condition in QUARTET:
                ambiguous, negative = condition == AMBIGUOUS, polarity == NEGATIVE
                if (ambiguous and flipped in ("disambig", "all")) or (
                    whole and not ambiguous and flipped in ("ambig", "disambig")
                ):
                    continue
                gold = [old, young].index(who) if negative else 1 - [old, young].index(who)
                agrees = "pro-stereo" if who == old else "anti-stereo"
                rows.append(
                    {
                        **{"instance_id": len(rows), "template_id": template, "version": "a", "flipped": flipped},
                        **{"question_polarity": polarity, "context_condition": condition, "category": "Age"},
                        **{"subcategory": "", "relevant_social_value": "caídas", "stereotyped_groups": "['old']"},
                        "answer_info.ans0": str([old, "f, old"]),
                        "answer_info.ans1": str([young, "nonOld"]),
                        "answer_info.ans2": "['unknown', 'unknown']",
                        "context": f"{template}. {first}, {second} {went}" + ("" if ambiguous else f" {who} {fell}"),
                        "question": bad if negative else good,
                        **{"ans0": old, "ans1": young, "ans2": "unknown"},
                        "question_type": "n/a" if ambiguous else agrees,
                        "label": 2 if ambiguous else gold,
                        "source": "['survey']",
                    }
                )
    return rows


def bharatbbq() -> list[Row]:
    """Two quartets; the options of the two questions of a quartet are in different orders."""
    rows = []
    for number in range(2):
        for polarity, condition in QUARTET:
            options = (
                ["The clerk", "no telling", "The cook"]
                if polarity == NEGATIVE
                else ["The cook", "The clerk", "unknown"]
            )
            unknown = 1 if polarity == NEGATIVE else 2
            gold = options.index("The cook" if polarity == NEGATIVE else "The clerk")
            fact = "" if condition == AMBIGUOUS else " The cook spilt it."
            rows.append(
                {
                    "Qid": str(number + 1),
                    "Context_type": "amb" if condition == AMBIGUOUS else "disamb",
                    "Context": f"In kitchen {number} the tea was spilt.{fact}",
                    "Question": "Who spilt it?" if polarity == NEGATIVE else "Who mopped it up?",
                    "Question_polarity": "neg" if polarity == NEGATIVE else "non-neg",
                    **{f"Option{place + 1}": option for place, option in enumerate(options)},
                    "Options": str({f"Option{place + 1}": option for place, option in enumerate(options)}),
                    "Label": 1 + (unknown if condition == AMBIGUOUS else gold),
                    "Target": 1 + options.index("The cook"),
                    "Pairing": "biased",
                    "Proper_Noun": number,
                    "Category": "Caste",
                    "id": len(rows) + 1,
                }
            )
    return rows


# --- files


def write_jsonl(path: Path, rows: Sequence[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_table(path: Path, rows: Sequence[Row], encoding: str = "utf-8") -> Path:
    """A file of comma-separated or, by its name, tab-separated values."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _write_ggbbq(folder: Path) -> None:
    write_jsonl(folder / "bbq_de_amb_test.jsonl", ggbbq("ambiguous_context"))
    write_jsonl(folder / "bbq_de_disamb_test.jsonl", ggbbq("disambiguous_context"))
    write_table(folder / "templates_subset-1.csv", ggbbq_templates())


WRITERS: Mapping[str, Callable[[Path], object]] = {
    "kobbq": lambda folder: write_table(folder / "KoBBQ_test_samples.tsv", kobbq()),
    "ggbbq": _write_ggbbq,
    "basqbbq": lambda folder: write_jsonl(folder / "Lanbide.jsonl", basqbbq()),
    "jbbq": lambda folder: write_jsonl(folder / "Age.jsonl", jbbq()),
    "bharatbbq": lambda folder: write_table(folder / "Caste_examples.csv", bharatbbq(), "utf-8-sig"),
    "mbbq": lambda folder: write_jsonl(folder / "Gender_identity_en.jsonl", mbbq()),
    "mbbq_control": lambda folder: write_jsonl(folder / "Gender_identity_control_en.jsonl", mbbq_control()),
    "esbbq": lambda folder: write_table(folder / "Age.full.csv", esbbq("es")),
    "cabbq": lambda folder: write_table(folder / "Age.full.csv", esbbq("ca")),
}
"""By edition, what writes a small set of it, in its first language, into a folder."""
