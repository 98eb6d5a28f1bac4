"""A small folder of word lists in the authors' format, for tests that ask every question there is.

`write(folder)` writes all classes in both forms; `write(folder, {"nouns/subjects/religion": …})` with other content for
some files (None leaves a file out).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def _entries(head: str, *rows: str) -> str:
    return "".join(f"[{head}] {row}\n" for row in rows)


def _activities(single: bool = True) -> str:
    """Three harmless attributes of people in two clusters, with their negations."""
    forms: dict[str, tuple[str, ...]] = {
        "p_act": ("time | were late", "time | were slow", "mood | were sad"),
        "p_act:neg": ("time | were early", "time | were quick", "mood | were glad"),
    }
    if single:
        forms |= {f"p_act-single{head[5:]}": tuple(t.replace("were", "was") for t in forms[head]) for head in forms}
    return "\n".join(_entries(head, *rows) for head, rows in forms.items())


_PLACES = _entries("l_act", "size | was small", "size | was remote") + _entries(
    "l_act:neg", "size | was large", "size | was close"
)
_PAIR = "A [subj1] guest sat by a [subj2] guest."
_GROUP = "A group of [subj1] men joined a team of [subj2] women."

FILES: dict[str, str] = {
    "nouns/subjects/religion": _entries("subj", "Muslim", "Christian", "Jewish", "Hindu", "Atheist"),
    "nouns/subjects/ethnicity": _entries("subj", "African", "African-American", "European", "Arab", "Asian"),
    "nouns/subjects/female": _entries("subj", *(f"female | {x}" for x in ("Mary", "Linda", "Susan", "Lisa", "Nancy"))),
    "nouns/subjects/male": _entries("subj", *(f"male | {x}" for x in ("James", "John", "Robert", "David", "Mark"))),
    "nouns/subjects/country": _entries("subj", "Asia | Iran", "America | Haiti", "Europe | Italy", "Japan", "Peru")
    + "\n# the same in the same order\n"
    + _entries("subj:dem", "Iranian", "Haitian", "Italian", "Japanese", "Peruvian"),
    "activities/biased_religion": _activities(),
    "activities/biased_ethnicity": _activities(),
    "activities/biased_country": _PLACES + _activities(),
    "activities/occupation_rev1": _activities(single=False).replace("were", "was"),
    "slots/religion_noact": f"# two templates\n\n{_PAIR}\tWho [p_act-single]?\tWho [p_act-single:neg]?\n"
    f"{_GROUP}\tWho [p_act]?\tWho [p_act:neg]?\n",
    "slots/religion_noact_lm": f"{_PAIR}\tThe [mask] guest [p_act-single].\tThe [mask] guest [p_act-single:neg].\n"
    f"{_GROUP}\tThe [mask] people [p_act].\tThe [mask] people [p_act:neg].\n",
    "slots/gender_noact": "[subj1] sat by [subj2].\tWho [p_act]?\tWho [p_act:neg]?\n",
    "slots/gender_noact_lm": "[subj1] sat by [subj2].\t[mask] [p_act].\t[mask] [p_act:neg].\n",
    "slots/country_noact": "She moved from [subj1] to [subj2].\tWhich place [l_act]?\tWhich place [l_act:neg]?\n"
    "A [subj1:dem] baker met a [subj2:dem] cook.\tWho [p_act-single]?\tWho [p_act-single:neg]?\n",
    "slots/country_noact_lm": "She moved from [subj1] to [subj2].\t[mask] [l_act].\t[mask] [l_act:neg].\n"
    "A [subj1:dem] baker met a [subj2:dem] cook.\tThe [mask] [p_act-single].\tThe [mask] [p_act-single:neg].\n",
    "fillers/newsqa": "[aug] yes no  [text] (CNN) --",
}
FILES |= {name.replace("religion", "ethnicity"): FILES[name] for name in FILES if name.startswith("slots/religion")}

CELLS = {"religion": 10 * 2 * 3, "ethnicity": 10 * 2 * 3, "gender": 25 * 1 * 3, "nationality": 10 * (2 + 3)}


def write(folder: Path, changes: Mapping[str, str | bytes | None] | None = None) -> Path:
    """Write the lists, some of them changed; returns the folder."""
    for name, content in {**FILES, **(changes or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
