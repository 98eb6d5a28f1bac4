"""Every name's vector over many contexts, then what a linear classifier can tell from it (An et al. 2023, section 2).

Every name is put into the same contexts, in the person's first place. The vector of a name is the mean of its vectors
there, each the mean over the name's tokens in the model's last layer. A logistic regression learns an attribute (say,
gender) from two thirds of the names and is asked about the others, as in the paper's Table 1; a picture shows which
names are neighbours (Figure 2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import Ask, WordPlan, digest_of
from assay.asking.queries import EmbedColumns, StringColumn
from assay.config.settings import as_written, read_settings
from assay.datasets.catalogue import data_folder
from assay.errors import DataError, UsageError
from assay.files.opening import digest_of_file
from assay.files.rows import BadRows, read_rows
from assay.presentation.elements import Presentation
from assay.probes.base import Method, Prepared, Request, Stage
from assay.probes.claims import corrected
from assay.probes.contrast import Contrast
from assay.probes.diagnose import diagnosed
from assay.probes.sodapop.analyse import projection
from assay.probes.sodapop.contexts import (
    NAME,
    PAPER_NAME,
    STARTER,
    neutral_text,
    paper_file,
    read_contexts,
    starter_contexts,
    with_place_for,
)
from assay.probes.sodapop.names import NameGroups, chosen_groups, frequencies
from assay.probes.sodapop_names import PRESETS, SodapopNamesSettings
from assay.probes.sodapop_names.classifier import Array, ClassifierAccuracy, tell
from assay.probes.sodapop_names.compare_runs import RecalledNames, opened, paired, side_by_side
from assay.probes.sodapop_names.present import present
from assay.results.diagnosis import KEYS
from assay.results.findings import Cell, Estimate, Findings, Table
from assay.results.run import Run
from assay.stats import wilson_interval

_NOTHING_CHOSEN = "nothing is chosen: the model gives vectors of names"

GENERATOR = 1
"""Part of every plan's digest: raise it when the questions change."""

AT_ONCE = 4096
"""About so many vectors are held at a time: contexts are asked in groups, and each group is added up at once."""


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
        return EmbedColumns(StringColumn.of(text.replace(NAME, name) for text, name in rows), start, end)


@dataclass(frozen=True)
class NamesPrepared(Prepared):
    """Whose names are put into which contexts."""

    chosen: SodapopNamesSettings
    groups: NameGroups
    texts: Sequence[str]


@dataclass(frozen=True)
class NameVectors:
    """The mean vector of every name over all contexts, and how many tokens each name has."""

    mean: Array  # (name, width)
    pieces: NDArray[np.int32]  # (name,)


class SodapopNames(Method[NamesPrepared, NameVectors]):
    """Measures whether names' vectors reveal gender and race."""

    def prepare(self, request: Request, ask: Ask) -> NamesPrepared:
        settings = read_settings(SodapopNamesSettings, request.settings, self.probe.name, **PRESETS[request.preset])
        groups, named = chosen_groups(settings.groups)
        settings = _limited(settings, groups, request.limit)
        digest, groups = groups.digest, groups.take(settings.names_per_group)
        texts, path, notes = _read_texts(settings, request)
        if "embed" not in ask.abilities:
            remedy = "Choose builtin, or an hf: model that answers span, masked or multiple-choice questions."
            raise UsageError(
                "sodapop-names needs vectors of words, which this model does not give.", remedy, code="missing-ability"
            )
        stages = [Stage("names in contexts", len(groups.all_names()) * len(texts))]
        data = {named: digest, path.name: digest_of_file(path)}
        return NamesPrepared(as_written(settings), data, stages, notes, request.seed, settings, groups, texts)

    def gather(self, prepared: NamesPrepared, ask: Ask) -> NameVectors:
        names, texts = prepared.groups.all_names(), prepared.texts
        step = max(1, AT_ONCE // len(names))
        total: Any = 0.0
        for lo in range(0, len(texts), step):
            some = texts[lo : lo + step]
            found = ask(NamePlan(tuple(some), names), f"contexts {lo + 1} to {lo + len(some)}")["vector"]
            total = total + found.reshape(len(some), len(names), -1).sum(axis=0, dtype=np.float64)
        return NameVectors(np.asarray(total / len(texts)), ask(WordPlan(names), "names")["pieces"])

    def findings(self, prepared: NamesPrepared, data: NameVectors) -> Findings:
        groups, splits = prepared.groups, prepared.chosen.splits
        told = {
            attribute: tell(data.mean, np.array(values), splits, [prepared.seed, number])
            for number, (attribute, values) in enumerate(attributes_of(groups).items())
        }
        estimates = [estimate_of(attribute, found, splits) for attribute, found in told.items()]
        estimates = corrected(estimates, [estimate.metric for estimate in estimates])
        tables = {"names": _table(groups, told, data.pieces), **projection(groups, data.mean)}
        return Findings(
            self.probe.name, "", estimates, tables, diagnosis=diagnosed(None, dict.fromkeys(KEYS, _NOTHING_CHOSEN))
        )

    def recall(self, run: Run, again: Callable[[], tuple[NamesPrepared, NameVectors]]) -> RecalledNames:
        return opened(run)

    def contrast(
        self, one: RecalledNames, other: RecalledNames, *, settings: Mapping[str, Any], common: bool
    ) -> Contrast:
        return paired(self.probe, one, other)

    def present(self, run: Run) -> Presentation:
        return present(run)

    def side_by_side(self, models: Sequence[tuple[str, Findings]]) -> Mapping[str, Table]:
        return side_by_side(models)

    @property
    def titles(self) -> Mapping[str, str]:
        return {"telling": "How often an attribute is predicted correctly from the vectors of names"}


# --- findings


def attributes_of(groups: NameGroups) -> dict[str, list[str]]:
    """The attributes to predict, with their value for every name; the group's name if groups have no attributes.

    An attribute that is the same for all groups is none.
    """
    keys = list(groups.groups[0].attributes)
    found = {key: [group.attributes[key] for group in groups.groups for _ in group.names] for key in keys}
    found = found or {"group": [group.name for group in groups.groups for _ in group.names]}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def estimate_of(attribute: str, found: ClassifierAccuracy | str, splits: int) -> Estimate:
    """The accuracy with Wilson's interval for as many names as one split asks about.

    The mean over splits is surer than one of them, by how much is unknown: all names teach and are asked, so that the
    splits depend on each other. `bench/sodapop_coverage.py` measures what the interval covers.
    """
    if isinstance(found, str):
        return Estimate("name_accuracy", {"attribute": attribute}, None, note=found)
    value, n = float(found.accuracy.mean()), len(found.right)
    low, high = np.quantile(found.accuracy, [0.025, 0.975]).tolist()
    return Estimate(
        "name_accuracy",
        {"attribute": attribute},
        value,
        *wilson_interval(value, found.asked),
        n=n,
        p=found.p,
        floor=found.floor,
        note=f"the mean over {splits} random splits of the names; the middle 95% of them range from {low:.3f} to "
        f"{high:.3f}; the interval is for the {found.asked} names of one split",
    )


def _table(groups: NameGroups, told: Mapping[str, ClassifierAccuracy | str], pieces: NDArray[np.int32]) -> Table:
    """Every name with what may matter about it, and how often each of its attributes was told rightly."""
    rows: list[list[Cell]] = []
    for place, name in enumerate(groups.all_names()):
        count = frequencies().get(name)
        frequency = None if count is None else round(float(np.log10(count)), 4)
        right = [np.nan if isinstance(found, str) else float(found.right[place]) for found in told.values()]
        shares = [share if np.isfinite(share) else None for share in right]
        rows.append([groups.of(name).name, name, int(pieces[place]), frequency, *shares])
    return Table(("group", "name", "pieces", "log10_frequency", *(f"told_{key}" for key in told)), rows)


# --- sizes and files


def _read_texts(settings: SodapopNamesSettings, request: Request) -> tuple[list[str], Path, list[str]]:
    """Different contexts with NAME, as many as are wanted, the file that they are from, and notes about them."""
    bad = BadRows(request.skip_bad)
    named = Path(settings.texts) if settings.texts else request.data
    if named is not None and (settings.texts or named.is_file()):
        path = named
        texts = [context.text for context in read_contexts(path, questions=settings.questions, bad=bad)]
    elif request.data is not None or request.preset == "paper":
        path = paper_file(data_folder(request.data), "Social IQa's contexts")
        texts = _paper_texts(path)
    else:
        path, texts = STARTER, [context.text for context in starter_contexts()]
    notes = bad.notes("contexts")
    if settings.pronouns == "neutral":
        texts = [neutral_text(text) for text in texts]
    texts = list(dict.fromkeys(texts))
    if settings.contexts is not None and len(texts) < settings.contexts:
        notes.append(f"{path.name} has {len(texts)} different contexts, fewer than {settings.contexts}")
    return texts[: settings.contexts], path, notes


def _limited(settings: SodapopNamesSettings, groups: NameGroups, limit: int | None) -> SodapopNamesSettings:
    """With a limit, as many contexts as it allows, and fewer names where it does not allow one context for all."""
    if limit is None:
        return settings
    names = len(groups.take(settings.names_per_group).all_names())
    if limit < names:
        return replace(settings, contexts=1, names_per_group=max(2, limit // len(groups.groups)))
    most = limit // names
    return replace(settings, contexts=min(most, settings.contexts or most))


def _paper_texts(path: Path) -> list[str]:
    """The contexts of SODAPOP's copy of Social IQa, whatever is asked about them."""
    rows = read_rows(path, BadRows(skip=False))
    texts = [with_place_for(PAPER_NAME, str(row.get("context", ""))).strip() for _, row in rows]
    if named := [text for text in texts if NAME in text]:
        return named
    remedy = "Name the file with --set texts=FILE."
    raise DataError(f"no context names {PAPER_NAME}.", remedy, code="empty-file", file=path)
