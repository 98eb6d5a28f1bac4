"""Every name's vector over many contexts, then what a linear classifier can tell from it (An et al. 2023, section 2).

Every name is put into the same contexts, in the person's first place. The vector of a name is the mean of its vectors
there, each the mean over the name's tokens in the model's last layer. A logistic regression learns an attribute (say,
gender) from two thirds of the names and is asked about the others, as in the paper's Table 1; a picture shows which
names are neighbours (Figure 2). scikit-learn runs on one thread, as in `assay.stats.clusters`: fits of some hundred
vectors are too small for more.

Two models are compared name by name. A name is told rightly in some share of the splits that asked about it. Interval
and p are those of Student's t over names, each with the variance that it has when it is asked once; half of the names
count. The spread of the shares would be too small, and so would be the error of all names: those of one split are told
by one classifier, and a model was found to differ from its equal too often (`bench/sodapop_coverage.py`). Only runs
with the same names, splits and seed are paired: only these learnt from the same names.
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
from assay.probes.base import Method, Prepared, Probe, Request, Stage
from assay.probes.claims import corrected
from assay.probes.contrast import Common, Contrast, PairedChange, change_of
from assay.probes.diagnose import diagnosed
from assay.probes.sodapop import spelled
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
from assay.probes.sodapop_names.present import present
from assay.results.diagnosis import KEYS
from assay.results.findings import Cell, Estimate, Findings, Table
from assay.results.run import Run
from assay.stats import MIN_UNITS, monte_carlo_p, student_p, student_reach, wilson_interval

_NOTHING_CHOSEN = "nothing is chosen: the model gives vectors of names"

GENERATOR = 1
"""Part of every plan's digest: raise it when the questions change."""

AT_ONCE = 4096
"""About so many vectors are held at a time: contexts are asked in groups, and each group is added up at once."""

PERMUTATIONS, COMPARED = 99, 2
"""For the chance level and p: how often the names' values are shuffled, and the splits of each."""

FEWEST = 3
"""How many names a value needs: two to learn from and one to predict."""

COUNTED = 0.5
"""The share of the names that count as independent of each other."""

Array = NDArray[np.float64]


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


NameVectors = tuple[Array, NDArray[np.int32]]
"""The mean vector of every name over all contexts (name, width), and how many tokens each name has (name,)."""


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
        return NamesPrepared(
            settings=as_written(settings),
            data=data,
            stages=stages,
            notes=notes,
            seed=request.seed,
            chosen=settings,
            groups=groups,
            texts=texts,
        )

    def gather(self, prepared: NamesPrepared, ask: Ask) -> NameVectors:
        names, texts = prepared.groups.all_names(), prepared.texts
        step = max(1, AT_ONCE // len(names))
        total: Any = 0.0
        for lo in range(0, len(texts), step):
            group = texts[lo : lo + step]
            vectors = ask(NamePlan(tuple(group), names), f"contexts {lo + 1} to {lo + len(group)}")["vector"]
            total = total + vectors.reshape(len(group), len(names), -1).sum(axis=0, dtype=np.float64)
        return np.asarray(total / len(texts)), ask(WordPlan(names), "names")["pieces"]

    def findings(self, prepared: NamesPrepared, data: NameVectors) -> Findings:
        groups, splits, (vectors, pieces) = prepared.groups, prepared.chosen.splits, data
        accuracies = {
            attribute: classifier_accuracy(vectors, np.array(values), splits, [prepared.seed, number])
            for number, (attribute, values) in enumerate(attributes_of(groups).items())
        }
        estimates = [estimate_of(attribute, accuracy, splits) for attribute, accuracy in accuracies.items()]
        estimates = corrected(estimates, [estimate.metric for estimate in estimates])
        tables = {"names": _table(groups, accuracies, pieces), **projection(groups, vectors)}
        return Findings(
            self.probe.name, "", estimates, tables, diagnosis=diagnosed(None, dict.fromkeys(KEYS, _NOTHING_CHOSEN))
        )

    def recall(self, run: Run, again: Callable[[], tuple[NamesPrepared, NameVectors]]) -> RecalledNames:
        return recalled_names(run)

    def contrast(
        self, first: RecalledNames, second: RecalledNames, *, settings: Mapping[str, Any], common: bool
    ) -> Contrast:
        return paired(self.probe, first, second)

    def side_by_side(self, models: Sequence[tuple[str, Findings]]) -> Mapping[str, Table]:
        return side_by_side(models)

    @property
    def titles(self) -> Mapping[str, str]:
        return {"telling": "How often an attribute is predicted correctly from the vectors of names"}

    present = staticmethod(present)


# --- findings


def attributes_of(groups: NameGroups) -> dict[str, list[str]]:
    """The attributes to predict, with their value for every name; the group's name if groups have no attributes.

    An attribute that is the same for all groups is none.
    """
    keys = list(groups.groups[0].attributes)
    values_by_key = {key: [group.attributes[key] for group in groups.groups for _ in group.names] for key in keys}
    if not keys:
        values_by_key = {"group": [group.name for group in groups.groups for _ in group.names]}
    return {key: values for key, values in values_by_key.items() if len(set(values)) > 1}


def estimate_of(attribute: str, result: ClassifierAccuracy | str, splits: int) -> Estimate:
    """The accuracy with Wilson's interval for as many names as one split asks about.

    The mean over splits is surer than one of them, by how much is unknown: all names teach and are asked, so that the
    splits depend on each other. `bench/sodapop_coverage.py` measures what the interval covers.
    """
    if isinstance(result, str):
        return Estimate("name_accuracy", {"attribute": attribute}, None, note=result)
    value, n = float(result.accuracy.mean()), len(result.right)
    low, high = np.quantile(result.accuracy, [0.025, 0.975]).tolist()
    return Estimate(
        "name_accuracy",
        {"attribute": attribute},
        value,
        *wilson_interval(value, result.test_size),
        n=n,
        p=result.p,
        floor=result.floor,
        note=f"the mean over {splits} random splits of the names; the middle 95% of them range from {low:.3f} to "
        f"{high:.3f}; the interval is for the {result.test_size} names of one split",
    )


def _table(groups: NameGroups, accuracies: Mapping[str, ClassifierAccuracy | str], pieces: NDArray[np.int32]) -> Table:
    """Every name with what may matter about it, and how often each of its attributes was predicted correctly."""
    rows: list[list[Cell]] = []
    for row, name in enumerate(groups.all_names()):
        count = frequencies().get(name)
        frequency = None if count is None else round(float(np.log10(count)), 4)
        right = [np.nan if isinstance(result, str) else float(result.right[row]) for result in accuracies.values()]
        shares = [share if np.isfinite(share) else None for share in right]
        rows.append([groups.of(name).name, name, int(pieces[row]), frequency, *shares])
    return Table(("group", "name", "pieces", "log10_frequency", *(f"told_{key}" for key in accuracies)), rows)


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


# --- the classifier


@dataclass(frozen=True)
class ClassifierAccuracy:
    """How often an attribute is predicted correctly from vectors of unseen names."""

    accuracy: Array  # (split,)
    floor: float  # the mean accuracy when the names' values are shuffled
    p: float  # how often shuffled values are told as well as the true ones
    right: Array  # (name,): share of the splits that asked about it; NaN where none did
    test_size: int  # names that each split asked about


def classifier_accuracy(
    vectors: Array, values: NDArray[np.str_], splits: int, seed: Sequence[int]
) -> ClassifierAccuracy | str:
    """How well the values (name,) are predicted from vectors (name, width); or a text that says why they cannot be.

    p compares the mean accuracy of the first splits with that of shuffled values, each with as many splits: the same
    quantity, so that p is valid however few these are.
    """
    rarest, count = min(
        zip(*np.unique(values, return_counts=True), strict=True), key=lambda value_count: int(value_count[1])
    )
    if count < FEWEST:
        title = spelled(sorted({*values.tolist()}))[str(rarest)]
        return f"{title} has {count} names, and each value needs {FEWEST}: two to learn from and one to predict"
    from sklearn import config_context
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(list(seed))
    with threadpool_limits(1), config_context(skip_parameter_validation=True):  # once for hundreds of small fits
        right = _right(vectors, values, splits, rng)
        by_chance = [np.nanmean(_right(vectors, rng.permutation(values), COMPARED, rng)) for _ in range(PERMUTATIONS)]
    times = np.isfinite(right).sum(axis=0)  # that splits asked about a name
    shares = np.where(times > 0, np.nansum(right, axis=0) / np.maximum(times, 1), np.nan)
    p = monte_carlo_p(float(np.nanmean(right[:COMPARED])), np.array(by_chance))
    return ClassifierAccuracy(
        accuracy=np.nanmean(right, axis=1),
        floor=float(np.mean(by_chance)),
        p=p,
        right=shares,
        test_size=int(np.isfinite(right[0]).sum()),
    )


def _right(vectors: Array, values: NDArray[np.str_], splits: int, rng: np.random.Generator) -> Array:
    """1 where a name's value is predicted correctly, 0 where not, NaN where it was learnt from (split, name).

    Names are divided at random, two thirds to learn from, with equal shares of every value; features are standardised
    by those.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedShuffleSplit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    right = np.full((splits, len(values)), np.nan)
    dividing = StratifiedShuffleSplit(splits, test_size=1 / 3, random_state=int(rng.integers(1 << 31)))
    for number, (training, test) in enumerate(dividing.split(vectors, values)):
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        classifier.fit(vectors[training], values[training])
        right[number, test] = classifier.predict(vectors[test]) == values[test]
    return right


# --- two models, name by name


def side_by_side(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
    """Tables over models, given by name and findings."""
    numbers = ("value", "low", "high", "floor", "p", "q", "n")
    rows: list[Sequence[Cell]] = [
        [estimate.group["attribute"], name, *(getattr(estimate, column) for column in numbers)]
        for name, findings in models
        for estimate in findings.estimates
        if estimate.metric == "name_accuracy" and estimate.value is not None
    ]
    columns = ("attribute", "model", "accuracy", *numbers[1:])
    table = Table(columns, sorted(rows, key=lambda row: str(row[0])))
    return {"telling": table} if rows else {}


@dataclass(frozen=True)
class RecalledNames:
    """Who was told how often: by attribute the estimate, and every name's share."""

    names: tuple[tuple[str, str], ...]  # group, name
    shares: Mapping[str, Sequence[float | None]]
    estimates: Mapping[str, Estimate]
    splits: tuple[str, str]  # their number and their seed


def recalled_names(run: Run) -> RecalledNames:
    """From the run's table of names."""
    table = run.findings.tables.get("names")
    if table is None:
        problem = "this run has no table of names."
        raise DataError(problem, "Repeat the run.", code="bad-findings", file=run.folder, key="names")
    records = list(table.records())
    estimates = {
        estimate.group["attribute"]: estimate
        for estimate in run.findings.estimates
        if estimate.metric == "name_accuracy"
    }
    return RecalledNames(
        names=tuple((str(record["group"]), str(record["name"])) for record in records),
        shares={key: [run.number("names", record, f"told_{key}", (0, 1)) for record in records] for key in estimates},
        estimates=estimates,
        splits=(str(run.info.settings.get("splits")), str(run.info.seed)),
    )


def paired(probe: Probe, first: RecalledNames, second: RecalledNames) -> Contrast:
    """The changes from one model to the other."""
    shared = len(set(first.names) & set(second.names))
    counts = [Common("names", len(first.names), len(second.names), shared)]
    if first.names != second.names or first.splits != second.splits:
        difference = "names" if first.names != second.names else "splits or seeds"
        return Contrast([], counts, notes=[f"nothing is paired: the two runs have different {difference}"])
    return Contrast([_change(probe, key, first, second) for key in first.estimates if key in second.estimates], counts)


def _change(probe: Probe, attribute: str, first: RecalledNames, second: RecalledNames) -> PairedChange:
    baseline, model = first.estimates[attribute], second.estimates[attribute]
    before, after = (np.nan if estimate.value is None else estimate.value for estimate in (baseline, model))
    shares = np.array([side.shares[attribute] for side in (first, second)], np.float64)  # NaN for None
    shares = shares[:, np.isfinite(shares).all(axis=0)]  # (model, name)
    n = shares.shape[1]
    enough = n >= MIN_UNITS
    apart = shares[0] * (1.0 - shares[1]) + shares[1] * (1.0 - shares[0])  # how often the two differ about a name
    error = np.sqrt(apart.mean() / (COUNTED * n)) if enough else np.nan
    return change_of(
        probe.metric("name_accuracy"),
        {"attribute": attribute},
        (before, after),
        n=n,
        replicates=(shares[0], shares[1]) if enough else None,
        interval=lambda value, replicates, bounds: np.clip(
            value + student_reach(error, n - 1) * np.array([-1, 1]), *bounds
        ),
        p=float(student_p(after - before, error, n - 1)) if enough else None,
        family="name_accuracy",
        undefined=baseline.note if baseline.value is None else model.note,
        note=None if enough else f"no interval: fewer than {MIN_UNITS} names were asked about in both",
    )
