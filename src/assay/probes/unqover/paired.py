"""Two models on the same cells: by how much μ, η, δ and ε change.

Cells are the same where their content is: the template's text, both questions with the attribute in them, and the two
subjects. Intervals draw subjects (and templates, where there are at least 5) anew, the same ones for both models. p
asks whether the change is the work of few subjects: the sign-flip test of what every subject contributes to it. It is
not the test that exchanges the two models' answers pair by pair. For two models that prefer different subjects equally
strongly, such an exchange mixes them into one that prefers nobody, so that any difference of μ looks clear.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.differences import Array, Change, Common, change_of, contribution_p
from assay.probes.unqover import metrics
from assay.probes.unqover.analyse import HEADLINE, MIN_CELLS
from assay.probes.unqover.blocks import Block, Indices, make_blocks
from assay.probes.unqover.metrics import Cells, Labels
from assay.probes.unqover.plan import UnqoverPlan
from assay.probes.unqover.text import fill
from assay.probes.unqover.uncertainty import Weights
from assay.queries import MASK
from assay.stats import MIN_UNITS, basic_interval

RESAMPLES = 1000
POOLED = ("pooled_mu", "pooled_eta")
_MEANS = HEADLINE[2:]  # δ, ε and the average score: means over cells
_MASKS = re.compile(rf"\[mask\]|<mask>|{MASK}", re.IGNORECASE)

Content = tuple[str, str, str]
"""What a template asks about an attribute: context, question and negated question, with [subj1] and [subj2]."""


@dataclass(frozen=True)
class Side:
    """One class and form of a run, and what each (template, attribute) of its cells says."""

    cls: str
    form: str
    cells: Cells
    labels: Labels
    contents: Mapping[tuple[int, int], Content]
    released: bool = False


def content(context: str, asked: str, negated: str) -> Content:
    """Texts without what does not matter: case, blanks, the mask's spelling, and "an" for "a", which a subject decides.

    >>> content("An [subj1:dem] man met a  [subj2:dem] man.", "Who left?", "Who stayed?")[0]
    'a [subj1] man met a [subj2] man.'
    """
    context = re.sub(r"\[(subj[12]):dem\]", r"[\1]", context)
    texts = (re.sub(r"\ban\b", "a", _MASKS.sub("[mask]", text).lower()) for text in (context, asked, negated))
    first, second, third = (" ".join(text.split()) for text in texts)
    return first, second, third


def contents_of(plan: UnqoverPlan) -> dict[tuple[int, int], Content]:
    """What every (template, attribute) of a plan says."""
    lists = plan.lists
    said = {}
    for t, a in plan.table.combinations.tolist():
        template, attribute = lists.templates[t], lists.attributes[a]
        heads = template.head, f"{template.head}:neg"
        questions = [
            fill(text, {head: attribute.forms[head], "mask": MASK})[0]
            for text, head in zip((template.asked, template.negated), heads, strict=True)
        ]
        said[t, a] = content(f"{lists.header} {template.context}", *questions)
    return said


@dataclass(frozen=True)
class _Both:
    """The cells that two runs share, as the first has them, with both models' scores."""

    cells: Cells
    other: metrics.Scores
    labels: Labels

    @staticmethod
    def of(one: Side, other: Side) -> _Both:
        subjects: dict[tuple[str, str], int] = {}
        contents: dict[Content, int] = {}
        for side in (one, other):
            for key in _people(side.labels):
                subjects.setdefault(key, len(subjects))
            for said in side.contents.values():
                contents.setdefault(said, len(contents))
        (first, turned), (second, turned_too) = (_numbers(side, subjects, contents) for side in (one, other))
        if np.array_equal(first, second):
            here = there = np.arange(len(first))
        else:
            _, here, there = np.intersect1d(first, second, return_indices=True)
            here, there = (places[np.argsort(here, kind="stable")] for places in (here, there))
        flipped = turned[here] != turned_too[there]
        scores = other.cells.scores[there]
        scores[flipped] = scores[flipped][:, ::-1, :, ::-1]  # the other order is the first, and the other subject
        mine = one.cells
        taken = Cells(mine.template[here], mine.first[here], mine.second[here], mine.attribute[here], mine.scores[here])
        cells, labels = _renumbered(taken, one.labels)
        pairs = len(np.unique(_pair(cells, len(labels.subjects))))
        grid = pairs * len(
            np.unique(cells.template.astype(np.int64) * max(len(labels.attributes), 1) + cells.attribute)
        )
        sampled = one.labels.sampled or other.labels.sampled or len(cells) < grid
        return _Both(cells, scores, replace(labels, sampled=sampled))


def _people(labels: Labels) -> list[tuple[str, str]]:
    groups = labels.groups or [""] * len(labels.subjects)
    return list(zip(labels.subjects, groups, strict=True))


def _pair(cells: Cells, subjects: int) -> Indices:
    low, high = (pick(cells.first, cells.second).astype(np.int64) for pick in (np.minimum, np.maximum))
    return low * subjects + high


def _numbers(
    side: Side, subjects: Mapping[tuple[str, str], int], contents: Mapping[Content, int]
) -> tuple[Indices, Indices]:
    """A number for each cell that says what it is about, and whether its subjects stand the other way round there."""
    number = np.array([subjects[key] for key in _people(side.labels)], dtype=np.int32)
    table = np.zeros((side.labels.templates, len(side.labels.attributes)), dtype=np.int64)
    for place, said in side.contents.items():
        table[place] = contents[said]
    cells = side.cells
    named = replace(cells, first=number[cells.first], second=number[cells.second])
    key = _pair(named, len(subjects)) * len(contents) + table[cells.template, cells.attribute]
    return key, (named.first > named.second).astype(np.int64)


def _renumbered(cells: Cells, labels: Labels) -> tuple[Cells, Labels]:
    """Without the subjects, attributes and templates that no cell has; subjects by name, whoever named them first."""
    named = np.argsort(np.argsort(np.array(labels.subjects), kind="stable"), kind="stable")  # each subject's place
    by_name = np.argsort(named, kind="stable")
    places, subject = np.unique(named[np.concatenate((cells.first, cells.second))], return_inverse=True)
    subjects = by_name[places]
    attributes, attribute = np.unique(cells.attribute, return_inverse=True)
    templates, template = np.unique(cells.template, return_inverse=True)
    first, second = np.split(subject.astype(np.int32), 2)
    kept = Labels(
        [labels.subjects[k] for k in subjects],
        [labels.attributes[k] for k in attributes],
        [labels.attribute_classes[k] for k in attributes],
        len(templates),
        None if labels.groups is None else [labels.groups[k] for k in subjects],
        labels.sampled,
    )
    return Cells(template.astype(np.int32), first, second, attribute.astype(np.int32), cells.scores), kept


def changes(one: Side, other: Side) -> tuple[list[Change], Common]:
    """The changes from one model to the other on the cells of a class and form that both were asked."""
    both = _Both.of(one, other)
    n = len(both.cells)
    counts = Common(f"{one.cls} ({one.form}), cells", len(one.cells), len(other.cells), n)
    if not n:
        return [], counts
    groups = None
    if both.labels.groups is not None:
        known = {name: number for number, name in enumerate(dict.fromkeys(both.labels.groups))}
        groups = np.array([known[name] for name in both.labels.groups], dtype=np.int64)
    released = one.released, other.released
    return _changes(one.cls, one.form, both, groups, released), counts


def _changes(cls: str, form: str, both: _Both, groups: Indices | None, released: tuple[bool, bool]) -> list[Change]:
    labels, n = both.labels, len(both.cells)
    strata = np.zeros(len(labels.subjects), dtype=np.int64) if groups is None else groups
    rngs = np.random.default_rng([0, 0]), np.random.default_rng([0, 1])
    weights = Weights.draw(strata, labels.templates, RESAMPLES, rngs)
    sums = _sums(both, released, 1 if weights.template is None else labels.templates)
    values = _values(sums, Weights(np.ones((1, len(strata))), None), groups)  # (1, metric, model)
    again = _values(sums, weights, groups)  # (resample, metric, model)
    without = _values(sums, Weights(1.0 - np.eye(len(strata)), None), groups)  # (subject, metric, model)
    units = int(np.bincount(strata).min())
    enough = units >= MIN_UNITS
    p = contribution_p(np.diff(values)[0, :, 0], np.diff(without)[:, :, 0], strata)
    few = None
    if not enough:
        whose = "subjects" if groups is None else "subjects in a group"
        few = f"no interval and no p: {units} common {whose}, and fewer than {MIN_UNITS} cannot be resampled"
    made = []
    for k, name in enumerate((*HEADLINE, *(() if groups is None else POOLED))):
        pooled, metric = name in POOLED, name.removeprefix("pooled_")
        why = _undefined(metric, n, labels, pooled, released)
        before, after = (np.nan, np.nan) if why else values[0, k]
        made.append(
            change_of(
                metric,
                {"class": cls, "form": form, **({"subjects": "pooled"} if pooled else {})},
                (float(before), float(after)),
                n=n,
                bounds=(0.0, 1.0),
                replicates=(again[:, k, 0], again[:, k, 1]) if enough else None,
                interval=lambda value, replicates, bounds: basic_interval(value, replicates, bounds=bounds),
                p=float(p[k]) if enough else None,
                family=name,
                undefined=why,
                note=few,
            )
        )
    return made


def _undefined(metric: str, n: int, labels: Labels, pooled: bool, released: tuple[bool, bool]) -> str | None:
    """Why a change says nothing, if so."""
    if metric == "delta" and released[0] != released[1]:
        return "one run has δ as the paper defines it, the other as the released program does (compat)"
    if metric not in ("mu", "eta") or not labels.sampled:
        return None
    each = (n if pooled else 2 * n / len(labels.subjects)) / len(labels.attributes)
    if each >= MIN_CELLS:
        return None
    whose = "group" if pooled else "subject"
    return (
        f"the common cells are a sample with {each:.1f} per ({whose}, attribute); with fewer than {MIN_CELLS} the "
        "maximum and the absolute values measure noise"
    )


def _sums(both: _Both, released: tuple[bool, bool], templates: int) -> list[Block]:
    """One block a subject, with the sums of both models side by side.

    Columns: ΣC of both by attribute, Σsgn C of both, cells; then Σδ, Σε and Σ average score of both.
    """
    subjects, attributes = len(both.labels.subjects), len(both.labels.attributes)
    made = []
    for scores, compat in zip((both.cells.scores, both.other), released, strict=True):
        bias = metrics.comparative_bias(scores)
        delta = metrics.positional_error(scores, released=compat)
        errors = np.stack((delta, metrics.attribute_error(scores), metrics.average_score(scores)), axis=1)
        made.append(make_blocks(both.cells, bias, errors, subjects, attributes, templates))
    ends = np.cumsum([attributes] * 3)
    joined = []
    for one, other in zip(*made, strict=True):
        parts = [np.split(block.sums, ends, axis=1) for block in (one, other)]
        columns = [side[k] for k in (0, 1) for side in parts] + [parts[0][2]] + [side[3] for side in parts]
        joined.append(Block(one.partner, one.template, np.concatenate(columns, axis=1)))
    return joined


def _values(blocks: Sequence[Block], weights: Weights, groups: Indices | None) -> Array:
    """All metrics of both models in every resample: (resample, metric, model).

    A cell weighs w_i · w_j · v_t. Ratios without a cell are left out, as in `uncertainty.bootstrap`.
    """
    draws = len(weights.subject)
    attributes = (blocks[0].sums.shape[1] - 2 * len(_MEANS)) // 5
    asked_at = slice(4 * attributes, 5 * attributes)
    strongest, known, means, cells = np.zeros((draws, 2, 2)), np.zeros(draws), np.zeros((draws, 6)), np.zeros(draws)
    pooled = None if groups is None else np.zeros((draws, int(groups.max()) + 1, 5 * attributes))
    for x, block in enumerate(blocks):
        drawn = weights.subject[:, block.partner]  # (resample, unit)
        if weights.template is not None:
            drawn = drawn * weights.template[:, block.template]
        totals = drawn @ block.sums  # (resample, column)
        own, asked = weights.subject[:, x], totals[:, asked_at]
        there = asked.any(axis=1)
        strongest += (own * there)[:, None, None] * _intensities(totals, asked, attributes)
        known += own * there
        cells += own * asked.sum(axis=1)
        means += own[:, None] * totals[:, 5 * attributes :]
        if pooled is not None and groups is not None:
            pooled[:, groups[x]] += own[:, None] * totals[:, : 5 * attributes]
    with np.errstate(invalid="ignore"):
        found = [strongest / known[:, None, None], np.swapaxes((means / cells[:, None]).reshape(draws, 2, 3), 1, 2)]
    if pooled is not None:
        each = _intensities(pooled, pooled[..., asked_at], attributes)  # (resample, group, metric, model)
        seen = (pooled[..., asked_at].sum(axis=2) > 0)[..., None, None]  # (resample, group, 1, 1)
        with np.errstate(invalid="ignore"):
            found.append((each * seen).sum(axis=1) / seen.sum(axis=1))
    return np.concatenate(found, axis=1)


def _intensities(totals: Array, asked: Array, attributes: int) -> Array:
    """max_a |γ| and mean_a |η| of one row (…, metric, model), over the attributes that were asked; 0 where none was."""
    count = (asked > 0).sum(axis=-1)
    divisor = np.where(asked > 0, asked, np.inf)
    result = np.empty((*totals.shape[:-1], 2, 2))
    for model in (0, 1):
        gamma, eta = (
            np.abs(totals[..., at * attributes : (at + 1) * attributes]) / divisor for at in (model, 2 + model)
        )
        result[..., 0, model] = gamma.max(axis=-1)
        result[..., 1, model] = eta.sum(axis=-1) / np.maximum(count, 1)
    return result
