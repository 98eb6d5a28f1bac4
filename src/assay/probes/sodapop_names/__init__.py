"""`sodapop-names`: do a model's vectors of names give away whose names they are? (An et al. 2023, section 2)

Every name is put into the same contexts, in the person's first place. The vector of a name is the mean of its vectors
there, each the mean over the name's tokens in the model's last layer. A logistic regression learns an attribute (say,
gender) from two thirds of the names and is asked about the others, as in the paper's Table 1; a picture shows which
names are neighbours (Figure 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data import data_folder
from assay.data.official import forms
from assay.errors import DataError, UsageError
from assay.files.opening import digest_of_file
from assay.findings import Cell, Estimate, Findings, Table
from assay.plan import Ask, WordPlan, digest_of
from assay.probes import Request, Stage
from assay.probes.settings import read_settings
from assay.probes.sodapop import PAPER_FILE
from assay.probes.sodapop.contexts import NAME, STARTER, read_contexts, starter_contexts, with_place_for
from assay.probes.sodapop.names import Groups, frequencies, packaged_groups, read_groups
from assay.probes.sodapop.pronouns import neutral_text
from assay.probes.sodapop.settings import CHOICES, NUMBERS
from assay.probes.sodapop_names.telling import Array, Told, tell
from assay.queries import EmbedColumns, Texts
from assay.rows import Bad, rows_of
from assay.stats import tsne_projection

PRESETS: Mapping[str, Mapping[str, str | int]] = {
    "quick": {"contexts": 4, "names_per_group": 12},
    "standard": {"contexts": 20},
    "paper": {"contexts": 1000},
}
PAPER_NAME = "Bethany"
"""The person in SODAPOP's copy of Social IQa's development set."""

GENERATOR = 1
"""Part of every plan's digest: raise it when the questions change."""

AT_ONCE = 4096
"""About so many vectors are held at a time: contexts are asked in groups, and each group is added up at once."""

_FEWEST_TO_PROJECT = 4
_LEAST = {**{key: NUMBERS[key] for key in ("names_per_group", "contexts")}, "splits": 2}


@dataclass(frozen=True)
class NameSettings:
    """What can be set with `--set key=value`; where a preset decides, the value here means all.

    groups: a JSON file of name groups in place of the paper's eight; names_per_group: the first so many of each.
    texts: a file in Social IQa's format in place of the packaged contexts; contexts: the first so many different ones;
      questions: only contexts with the question to describe somebody, or all; pronouns: neutral replaces he and she.
    splits: how often the names are divided into those to learn from and those to be asked about.
    """

    groups: str | None = None
    names_per_group: int | None = None
    texts: str | None = None
    contexts: int | None = None
    questions: str = "all"
    pronouns: str = "keep"
    splits: int = 50

    def as_dict(self) -> dict[str, str | int | None]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def parse(given: Mapping[str, str], preset: str = "paper") -> NameSettings:
        """The settings of a preset with those that were given in their place.

        >>> NameSettings.parse({"splits": "9"}, "quick").splits, NameSettings.parse({}, "standard").contexts
        (9, 20)
        """
        known = (each.name for each in fields(NameSettings))
        read = read_settings("sodapop-names", given, known, CHOICES, _LEAST)
        return NameSettings(**{**PRESETS[preset], **read})


@dataclass(frozen=True)
class NamePlan:
    """Which vector has every name in every one of some contexts? Names of the first context, then of the next.

    The texts have NAME where the name goes; the place asked about is the first one.
    """

    texts: tuple[str, ...]
    names: tuple[str, ...]
    ability: str = "embed"

    @property
    def digest(self) -> str:
        return digest_of(["sodapop names", GENERATOR, self.texts, self.names])

    def __len__(self) -> int:
        return len(self.texts) * len(self.names)

    def columns(self, lo: int, hi: int) -> EmbedColumns:
        rows = [(self.texts[row // len(self.names)], self.names[row % len(self.names)]) for row in range(lo, hi)]
        start = np.array([text.index(NAME) for text, _ in rows], np.int32)  # nothing before it is replaced
        end = start + np.array([len(name) for _, name in rows], np.int32)
        return EmbedColumns(Texts.of(text.replace(NAME, name) for text, name in rows), start, end)


class SodapopNames:
    """The probe: every name's vector over many contexts, then what a linear classifier can tell from it."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._data: dict[str, str] = {}
        self._notes: list[str] = []
        settings = NameSettings.parse(request.settings or {}, request.preset)
        groups = read_groups(Path(settings.groups)) if settings.groups else packaged_groups()
        self._data[Path(settings.groups).name if settings.groups else "sodapop/names"] = groups.digest
        self._settings = _limited(settings, groups, request.limit)
        self._groups = groups.take(self._settings.names_per_group)
        self._texts = self._read_texts()

    def settings(self) -> Mapping[str, Any]:
        return self._settings.as_dict()

    def data(self) -> Mapping[str, str]:
        return self._data

    def notes(self) -> Sequence[str]:
        return self._notes

    def stages(self, ask: Ask) -> Sequence[Stage]:
        if "embed" not in ask.abilities:
            raise UsageError(
                "this model gives no vectors of words.",
                "Choose builtin, or an hf: model that answers span, masked or multiple-choice questions.",
            )
        return [Stage("names in contexts", len(self._groups.all_names()) * len(self._texts))]

    def run(self, ask: Ask, model: str) -> Findings:
        vectors = self._vectors(ask)
        told = {
            attribute: tell(vectors, np.array(values), self._settings.splits, [self._request.seed, number])
            for number, (attribute, values) in enumerate(attributes_of(self._groups).items())
        }
        estimates = [_estimate(attribute, found, self._settings.splits) for attribute, found in told.items()]
        tables = {"names": self._table(told, ask(WordPlan(self._groups.all_names()), "names")["pieces"])}
        if len(vectors) >= _FEWEST_TO_PROJECT:
            tables["projection"] = self._projection(vectors)
        return Findings("sodapop-names", model, estimates, tables)

    def _vectors(self, ask: Ask) -> Array:
        """The mean vector of every name over all contexts (name, width)."""
        names, texts = self._groups.all_names(), self._texts
        step = max(1, AT_ONCE // len(names))
        total: Any = 0.0
        for lo in range(0, len(texts), step):
            some = texts[lo : lo + step]
            found = ask(NamePlan(tuple(some), names), f"contexts {lo + 1} to {lo + len(some)}")["vector"]
            total = total + found.reshape(len(some), len(names), -1).sum(axis=0, dtype=np.float64)
        return np.asarray(total / len(texts))

    def _table(self, told: Mapping[str, Told | str], pieces: NDArray[np.int32]) -> Table:
        """Every name with what may matter about it, and how often each of its attributes was told rightly."""
        rows: list[list[Cell]] = []
        for place, name in enumerate(self._groups.all_names()):
            count = frequencies().get(name)
            row: list[Cell] = [self._groups.of(name).name, name, int(pieces[place])]
            row.append(None if count is None else round(float(np.log10(count)), 4))
            for found in told.values():
                right = np.nan if isinstance(found, str) else found.right[place]
                row.append(float(right) if np.isfinite(right) else None)
            rows.append(row)
        return Table(("group", "name", "pieces", "log10_frequency", *(f"told_{key}" for key in told)), rows)

    def _projection(self, vectors: Array) -> Table:
        """The names' vectors in two dimensions (t-SNE), for a picture (the paper's Figure 2)."""
        places = tsne_projection(vectors)
        rows: list[list[Cell]] = [
            [self._groups.of(name).name, name, round(float(x), 4), round(float(y), 4)]
            for name, (x, y) in zip(self._groups.all_names(), places.tolist(), strict=True)
        ]
        return Table(("group", "name", "x", "y"), rows)

    def _read_texts(self) -> list[str]:
        """Different contexts with NAME, as many as are wanted."""
        settings, request, bad = self._settings, self._request, Bad(self._request.skip_bad)
        named = Path(settings.texts) if settings.texts else request.data
        if named is not None and (settings.texts or named.is_file()):
            path = named
            texts = [context.text for context in read_contexts(path, questions=settings.questions, bad=bad)]
        elif request.data is not None or request.preset == "paper":
            path = _paper_file(data_folder(request.data))
            texts = _paper_texts(path)
        else:
            path, texts = STARTER, [context.text for context in starter_contexts()]
        self._data[path.name] = digest_of_file(path)
        self._notes += bad.notes("contexts")
        if settings.pronouns == "neutral":
            texts = [neutral_text(text) for text in texts]
        texts = list(dict.fromkeys(texts))
        if settings.contexts is not None and len(texts) < settings.contexts:
            self._notes.append(f"{path.name} has {len(texts)} different contexts, fewer than {settings.contexts}")
        return texts[: settings.contexts]


# --- findings


def attributes_of(groups: Groups) -> dict[str, list[str]]:
    """What there is to be told, with its value for every name; the name of the group where groups have no attributes.

    An attribute that is the same for all groups is none.
    """
    keys = list(groups.groups[0].attributes)
    found = {key: [group.attributes[key] for group in groups.groups for _ in group.names] for key in keys}
    found = found or {"group": [group.name for group in groups.groups for _ in group.names]}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def _estimate(attribute: str, found: Told | str, splits: int) -> Estimate:
    if isinstance(found, str):
        return Estimate("name_accuracy", {"attribute": attribute}, None, note=found)
    low, high = np.quantile(found.accuracy, [0.025, 0.975]).tolist()
    return Estimate(
        "name_accuracy",
        {"attribute": attribute},
        float(found.accuracy.mean()),
        low,
        high,
        n=len(found.right),
        p=found.p,
        floor=found.floor,
        note=f"the mean over {splits} random splits of the same names, and the middle 95% of these splits: other names "
        "may give other numbers than the interval has",
    )


# --- sizes and files


def _limited(settings: NameSettings, groups: Groups, limit: int | None) -> NameSettings:
    """With a limit, as many contexts as it allows, and fewer names where it does not allow one context for all."""
    if limit is None:
        return settings
    names = sum(len(group.names[: settings.names_per_group]) for group in groups.groups)
    if limit < names:
        return replace(settings, contexts=1, names_per_group=max(2, limit // len(groups.groups)))
    most = limit // names
    return replace(settings, contexts=min(most, settings.contexts or most))


def _paper_file(folder: Path) -> Path:
    found = forms(folder / PAPER_FILE)
    if not found:
        raise UsageError(
            f"Social IQa's contexts ({PAPER_FILE}) are not in {folder}.",
            "Get them with `assay data fetch sodapop`, or name a file in Social IQa's format with --set texts=FILE.",
        )
    return found[0]


def _paper_texts(path: Path) -> list[str]:
    """The contexts of SODAPOP's copy of Social IQa, whatever is asked about them."""
    texts = [
        with_place_for(PAPER_NAME, str(row.get("context", ""))).strip() for _, row in rows_of(path, Bad(skip=False))
    ]
    texts = [text for text in texts if NAME in text]
    if not texts:
        raise DataError(f"no context names {PAPER_NAME}.", "Name the file with --set texts=FILE.", file=path)
    return texts
