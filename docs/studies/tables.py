"""The tables of builtin.md, from the folder of the study: python docs/studies/tables.py build/study"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from pathlib import Path
from statistics import correlation, linear_regression
from typing import Any

from assay.probes.sodapop import say_pair

CHOICE = {
    "siqa": "not debiased",
    "siqa-again": "not debiased, another seed",
    "inlp-gender": "INLP, gender",
    "inlp-race": "INLP, race",
    "sentence-gender": "SentenceDebias, gender",
    "sentence-race": "SentenceDebias, race",
    "cda-gender-siqa": "CDA, gender",
    "cda-race-siqa": "CDA, race",
    "dropout-siqa": "Dropout",
}
ASKED = {
    "span--full": "span head, all 10,552,928 questions",
    "span": "span head",
    "span-inlp-gender": "INLP, gender",
    "span-inlp-race": "INLP, race",
    "span-sentence-gender": "SentenceDebias, gender",
    "span-sentence-race": "SentenceDebias, race",
    "mask": "mask head",
    "cda-gender": "CDA, gender",
    "cda-race": "CDA, race",
    "dropout": "Dropout",
}


def number(value: float, decimals: int = 3) -> str:
    return f"{value:.{decimals}f}".replace("-", "−")


def between(estimate: dict[str, Any], decimals: int = 3) -> str:
    """The number that an interval belongs to, with it; bold where a test of it is claimed."""
    said, low, high = (number(estimate[key], decimals) for key in (estimate["interval_of"], "low", "high"))
    return f"**{said}** ({low} to {high})" if estimate["claimed"] else f"{said} ({low} to {high})"


def findings(run: Path) -> Any:
    return json.loads((run / "findings.json").read_text())


def estimates(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = findings(run)["estimates"]
    return found


def digest(run: Path) -> str:
    return f"`{hashlib.sha256((run / 'findings.json').read_bytes()).hexdigest()[:12]}`"


def rows(run: Path, table: str) -> list[dict[str, str]]:
    with (run / "tables" / f"{table}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def claimed(row: dict[str, str]) -> bool:
    return row["claimed"] == "1"


def table(*columns: str) -> None:
    print(f"\n| {' | '.join(columns)} |\n{'|---' * len(columns)}|")


def line(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |")


def models(study: Path) -> None:
    known = json.loads((study / "study.json").read_text())["models"]
    table(
        *("model", "accuracy on Social IQa's dev part", "directions removed"),
        *("linear probe of mean vectors: before, after (guessing)", "weights"),
    )
    for name, title in CHOICE.items():
        made = json.loads((study / "models" / name / "assay.json").read_text())
        removed = probe = ""
        if "removed" in made:
            removed = f"{made['removed']['directions']} of {made['removed']['of']}"
            told = made["probe"]
            new = told.get("held_out") or {"before": told["accuracy"][0], "after": told["accuracy"][-1], **told}
            probe = f"{number(new['before'])}, {number(new['after'])} ({number(new['majority'])})"
        weights = f"`{known[name]['digest'][:12]}`"
        line(title, between(known[name]["scores"]["estimates"][0]), removed, probe, weights)


def sodapop(runs: Path, ending: str = "") -> None:
    pairs = {"EA_female": "AA_female", "EA_male": "AA_male", "HS_female": "HS_male"}
    told = [say_pair(pair) for pair in pairs.items()]
    table(
        *("model", "pairs told apart", "mean KMeans accuracy", "chance level"),
        *(*told, "clear words", "findings.json"),
    )
    for name, title in CHOICE.items():
        run = runs / f"sodapop--{name}{ending}"
        found = [each for each in estimates(run) if each["metric"] == "kmeans_accuracy"]
        by_pair = {(each["group"]["a"], each["group"]["b"]): each["value"] for each in found}
        words = rows(run, "words")
        line(
            title,
            f"{sum(each['claimed'] for each in found)} of {len(found)}",
            *(number(sum(each[key] for each in found) / len(found)) for key in ("value", "floor")),
            *(number(by_pair[pair], 2) for pair in pairs.items()),
            f"{len({row['word'] for row in words if claimed(row)})} of {len({row['word'] for row in words})}",
            digest(run),
        )


def by_pair(runs: Path) -> None:
    """KMeans accuracy by pair of groups, bold if it is clear."""
    table("groups", *CHOICE.values())
    found = {
        name: [each for each in estimates(runs / f"sodapop--{name}") if each["metric"] == "kmeans_accuracy"]
        for name in CHOICE
    }
    for place, first in enumerate(found["siqa"]):
        cells = [found[name][place] for name in CHOICE]
        assert all(cell["group"] == first["group"] for cell in cells)
        said = [f"**{number(cell['value'], 2)}**" if cell["claimed"] else number(cell["value"], 2) for cell in cells]
        line(say_pair((first["group"]["a"], first["group"]["b"])), *said)


def pools(runs: Path) -> None:
    """How RD of words relates to that of the model that was not debiased, and to what the pools alone give."""
    table(
        *("model", "RD against not debiased: correlation", "slope", "with shared pools: correlation", "slope"),
        *("RD against pools alone: correlation", "same sign", "size of RD by pools alone"),
    )
    first = {ending: differences(runs / f"sodapop--siqa{ending}") for ending in ("", "--shared")}
    for name, title in CHOICE.items():
        cells = []
        for ending, before in first.items():
            after = differences(runs / f"sodapop--{name}{ending}")
            both = [(before[key], value) for key, value in after.items() if key in before]
            cells += [correlation(*zip(*both, strict=True)), linear_regression(*zip(*both, strict=True)).slope]
        known = [row for row in rows(runs / f"sodapop--{name}", "words") if row["rd"] and row["rd_pools"]]
        own, alone = ([float(row[key]) for row in known] for key in ("rd", "rd_pools"))
        signs = [float(row["rd"]) * float(row["rd_pools"]) > 0 for row in known if claimed(row)]
        line(
            *(title, *map(number, cells), number(correlation(own, alone))),
            f"{sum(signs)} of {len(signs)} clear ones",
            number(sum(map(abs, alone)) / sum(map(abs, own)), 2),
        )


def differences(run: Path) -> dict[tuple[str, str, str], float]:
    """RD by pair of groups and word."""
    known = (row for row in rows(run, "words") if row["rd"])
    return {(row["group_a"], row["group_b"], row["word"]): float(row["rd"]) for row in known}


def bbq(runs: Path) -> None:
    kinds = {"ambig": "ambiguous", "disambig": "disambiguated"}
    heads = [f"{metric}, {said}" for metric in ("accuracy", "bias score") for said in kinds.values()]
    table("model", *heads, "categories with a clear bias score", "verdict", "findings.json")
    for name, title in CHOICE.items():
        run = runs / f"bbq--{name}"
        plain = [each for each in estimates(run) if each["group"].keys() == {"category", "context"}]
        pooled = {
            (each["metric"], each["group"]["context"]): each for each in plain if each["group"]["category"] == "all"
        }
        biased = [
            f"{each['group']['category'].replace('_', ' ')}, {kinds[each['group']['context']]} {number(each['value'])}"
            for each in plain
            if each["metric"] == "bias_score" and each["group"]["category"] != "all" and each["claimed"]
        ]
        numbers = [between(pooled[metric, kind]) for metric in ("accuracy", "bias_score") for kind in kinds]
        line(title, *numbers, "; ".join(biased) or "none", findings(run)["verdict"]["says"], digest(run))


def unqover(runs: Path) -> None:
    table(
        *(
            "model",
            "form",
            "μ, names grouped",
            "corrected",
            "chance level",
            "η, names grouped",
            "corrected",
            "chance level",
        ),
        *(
            "confidence in either person",
            "occupations associated more with men, women",
            "γ of these at least 0.05",
            "verdict",
            "findings.json",
        ),
    )
    for name, title in ASKED.items():
        run = runs / f"unqover--{name}"
        gender = [each for each in estimates(run) if each["group"]["class"] == "gender"]
        by_metric = {(each["metric"], each["group"].get("subjects")): each for each in gender}
        numbers = []
        for metric, decimals in (("mu", 4), ("eta", 2)):
            each = by_metric[metric, "pooled"]
            numbers += [number(each["value"], decimals), between(each, decimals), number(each["floor"], decimals)]
        men = [float(row["gamma"]) for row in rows(run, "groups") if row["group"] == "male" and claimed(row)]
        line(
            *(title, gender[0]["group"]["form"], *numbers, between(by_metric["avg_score", None])),
            f"{sum(gamma > 0 for gamma in men)}, {sum(gamma < 0 for gamma in men)} of 70",
            *(sum(abs(gamma) >= 0.05 for gamma in men), findings(run)["verdict"]["says"], digest(run)),
        )


def places(runs: Path) -> None:
    """How often the person stays the one in the same place when the two change places."""
    classes = ("gender", "nationality", "ethnicity", "religion")
    table("model", "form", *classes)
    for name, title in ASKED.items():
        found = findings(runs / f"unqover--{name}")["diagnosis"]["exchanged"]
        shares = {each["part"].split()[0]: each["same"] / each["n"] for each in found}
        form = found[0]["part"].split()[1].strip("()")
        line(title, form, *(f"{100 * shares[each]:.0f}%" for each in classes))


def paired(study: Path, name: str) -> Any:
    return json.loads((study / "compare" / name / "comparison.json").read_text())


def changes(study: Path) -> None:
    """Paired differences of every choice model's SODAPOP run from that of the one that was not debiased."""
    both = ("pairs changed", "with p ≤ 0.05 before correction", "largest change", "RD changed")
    table("model", *both, *(f"shared pools: {column}" for column in both))
    for name, title in list(CHOICE.items())[1:]:
        cells = []
        for ending in ("", "--shared"):
            found = paired(study, f"sodapop--{name}{ending}")
            pairs = [each["change"] for each in found["differences"]]
            largest = max(pairs, key=lambda change: abs(change["value"]))["value"]
            words = [row["claimed"] for row in found["tables"]["word_differences"] if row["q"] is not None]
            cells += [f"{sum(change['claimed'] for change in pairs)} of {len(pairs)}"]
            cells += [sum(change["p"] <= 0.05 for change in pairs), number(largest, 2)]
            cells += [f"{sum(words):,} of {len(words):,}"]
        line(title, *cells)


def answers(study: Path) -> None:
    """Paired differences of every choice model's BBQ run, pooled over categories."""
    kinds = {"ambig": "ambiguous", "disambig": "disambiguated"}
    table("model", *(f"{metric}, {said}" for metric in ("accuracy", "bias score") for said in kinds.values()))
    for name, title in list(CHOICE.items())[1:]:
        found = [each["change"] for each in paired(study, f"bbq--{name}")["differences"]]
        pooled = {
            (each["metric"], each["group"]["context"]): each
            for each in found
            if each["group"].keys() == {"category", "context"} and each["group"]["category"] == "all"
        }
        line(title, *(between(pooled[metric, kind]) for metric in ("accuracy", "bias_score") for kind in kinds))


def preferences(study: Path) -> None:
    """Paired differences of UnQover's numbers for gender from the head that was not debiased."""
    table("model", "μ, names grouped", "η, names grouped", "μ by name", "confidence in either person")
    for name, title in ASKED.items():
        if name in ("span--full", "span", "mask"):
            continue
        found = [each["change"] for each in paired(study, f"unqover--{name}")["differences"]]
        gender = {
            (each["metric"], each["group"].get("subjects")): each
            for each in found
            if each["group"]["class"] == "gender"
        }
        shown = ("mu", "pooled"), ("eta", "pooled"), ("mu", None), ("avg_score", None)
        line(title, *(between(gender[key], 4) for key in shown))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    models(folder)
    sodapop(folder / "runs")
    by_pair(folder / "runs")
    sodapop(folder / "runs", "--shared")
    for part in (pools, bbq, unqover, places):
        part(folder / "runs")
    for compared in (changes, answers, preferences):
        compared(folder)
