"""SODAPOP's Table 5 by the paper's rules, from runs with a single context each and annotators' readings of their words.

    python docs/studies/sodapop_table_5.py AA_female EA_female runs/context-* --annotations words.csv
    python docs/studies/sodapop_table_5.py AA_female EA_female runs/context-* --annotations words.csv --people cao.csv

A run's words are those with p < 0.05 in its tables/words.csv; each belongs to the group with the larger success rate.
The union over the runs has a word once for each group. `--annotations` is a CSV file with the columns annotator, word,
trait and pole (anna,brutal,threatening-benevolent,threatening): every row is one annotator's reading of a word, and
counts as one. `--people` is a file as for the setting `human`, one for each column of the table. The first group comes
before the sign: ≺ says that it has less of the trait's second pole.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.probes.sodapop.traits import packaged_lexicon

CLEAR = 0.05
FAR = 5  # of the words' scores: ‡
FAR_APART = {20.0: "†", 10.0: "∗"}  # of people's scores, from 0 to 100

Signs = Mapping[str, str]  # trait -> sign and marks; no trait that is not ordered


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def words_of(runs: Sequence[Path], groups: tuple[str, str]) -> dict[str, set[str]]:
    """The union over the runs of the words that fool the model more often for each group."""
    words: dict[str, set[str]] = {group: set() for group in groups}
    for run in runs:
        for row in read(run / "tables" / "words.csv"):
            pair = row["group_a"], row["group_b"]
            if set(pair) == set(groups) and row["p"] and float(row["p"]) < CLEAR and float(row["rd"]):
                words[pair[0] if float(row["rd"]) > 0 else pair[1]].add(row["word"].lower())
    return words


def signs_of_words(words: Mapping[str, set[str]], annotations: Path) -> Signs:
    """The order of [C(A, t) − C(A, ¬t)] − [C(B, t) − C(B, ¬t)], where any word is about the trait."""
    poles, differences = packaged_lexicon().traits, dict[str, int]()
    (first, _) = words
    for row in {tuple(row[key] for key in ("trait", "pole", "word", "annotator")) for row in read(annotations)}:
        trait, pole, word, _ = row
        if pole not in poles.get(trait, ()):
            raise SystemExit(f"{annotations}: {trait!r} with the pole {pole!r} is none of the 16 traits.")
        for group in (group for group in words if word.lower() in words[group]):
            sign = (1 if pole == poles[trait][1] else -1) * (1 if group == first else -1)
            differences[trait] = differences.get(trait, 0) + sign
    return {trait: sign_of(value) + ("‡" if abs(value) >= FAR else "") for trait, value in differences.items()}


def signs_of_people(ratings: Path, groups: tuple[str, str]) -> Signs:
    signs = {}
    for row in read(ratings):
        if {row["group_a"], row["group_b"]} == set(groups):
            value = float(row["score_a"]) - float(row["score_b"])
            value = value if row["group_a"] == groups[0] else -value
            mark = next((mark for least, mark in FAR_APART.items() if abs(value) >= least), "")
            signs[row["trait"]] = sign_of(value) + mark
    return signs


def sign_of(difference: float) -> str:
    return "≺" if difference < 0 else "≻" if difference > 0 else "="


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", help="a group, as tables/words.csv names it")
    parser.add_argument("second", help="the other group")
    parser.add_argument("runs", nargs="+", type=Path, help="run folders, with one context each")
    parser.add_argument("--annotations", type=Path, required=True)
    parser.add_argument("--people", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    groups = options.first, options.second
    words = words_of(options.runs, groups)
    by_words = signs_of_words(words, options.annotations)
    by_people = {path.stem: signs_of_people(path, groups) for path in options.people}
    print(f"| {groups[0]} and {groups[1]} | words | {''.join(f'{name} | ' for name in by_people)}")
    print("|---" * (2 + len(by_people)) + "|")
    for trait in packaged_lexicon().traits:
        sign = by_words.get(trait, "N/A")
        cells = [signs.get(trait, "") for signs in by_people.values()]
        shaded = [f"**{cell}**" if cell[:1] == sign[:1] else cell for cell in cells]
        print(f"| {' | '.join([trait, sign, *shaded])} |")
    found = " and ".join(f"{len(words[group])} of {group}" for group in groups)
    print(f"\nwords: {found}, from {len(options.runs)} runs; bold: people order the groups as the words do")


if __name__ == "__main__":
    main()
