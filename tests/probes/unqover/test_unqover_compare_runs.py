"""Two models on the same cells: μ, η, δ and ε, matched by what the cells say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.probes import method_of
from assay.probes.contrast import ALIKE, Common, PairedChange
from assay.probes.unqover import PROBE, compare_runs
from assay.probes.unqover.analyse import ScoredCells, analyse
from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.slots import Contents, content, with_slots


def grid(subjects: int, templates: int, attributes: int, groups: bool) -> tuple[np.ndarray, ...]:
    half = subjects // 2
    pairs = [(i, j) for i in range(subjects) for j in range(i + 1, subjects) if not groups or i < half <= j]
    p, t, a = (each.ravel() for each in np.meshgrid(range(len(pairs)), range(templates), range(attributes)))
    ends = np.array(pairs)[p]
    return t, ends[:, 0], ends[:, 1], a


def side(
    seed: int = 0,
    subjects: int = 8,
    templates: int = 2,
    attributes: int = 3,
    *,
    groups: bool = False,
    scale: float = 1.0,
) -> ScoredCells:
    """All cells with random scores, those of two subjects far apart where `scale` is large."""
    rng = np.random.default_rng(seed)
    t, first, second, a = (each.astype(np.int32) for each in grid(subjects, templates, attributes, groups))
    liked = scale * rng.normal(0, 0.1, (subjects, attributes))
    gap = np.clip(liked[first, a] - liked[second, a] + rng.normal(0, 0.02, len(t)), -0.9, 0.9) / 2
    scores = np.empty((len(t), 2, 2, 2))
    for polarity, sign in ((0, 1), (1, -1)):
        scores[:, :, polarity, 0] = (0.5 + sign * gap)[:, None]
        scores[:, :, polarity, 1] = (0.5 - sign * gap)[:, None]
    scores += rng.uniform(-0.05, 0.05, scores.shape)
    names = [f"s{k}" for k in range(subjects)]
    clusters = ["f" if k < subjects // 2 else "m" for k in range(subjects)] if groups else None
    labels = CellLabels(
        names, [f"a{k}" for k in range(attributes)], ["c"] * attributes, templates, clusters, sampled=False
    )
    said = {
        (k, m): (f"template {k}", f"who a{m}?", f"who not a{m}?") for k in range(templates) for m in range(attributes)
    }
    return scored(Cells(t, first, second, a, scores.astype(np.float32)), labels, said)


def scored(cells: Cells, labels: CellLabels, said: Contents) -> ScoredCells:
    return ScoredCells("religion", "span", cells, labels, contents=lambda: said)


def changes(one: ScoredCells, other: ScoredCells) -> tuple[list[PairedChange], Common]:
    return compare_runs.changes(PROBE, one, other)


def found(one: ScoredCells, other: ScoredCells) -> dict[str, PairedChange]:
    return {change.change.metric + change.change.group.get("subjects", ""): change for change in changes(one, other)[0]}


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("templates", [2, 6])
def test_a_model_does_not_differ_from_itself(groups: bool, templates: int) -> None:
    own = side(subjects=12, groups=groups, templates=templates)
    for change in found(own, own).values():
        assert (change.change.value, change.change.low, change.change.high, change.change.p) == (0.0, 0.0, 0.0, 1.0)
        assert change.change.note == ALIKE


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1000), st.booleans(), st.sampled_from([2, 6]))
def test_beside_a_model_without_preferences_errors_are_a_runs(seed: int, groups: bool, templates: int) -> None:
    """Its μ and η are 0 whoever is left out: one path makes the errors of runs and of differences."""
    own = side(seed, 10, templates, groups=groups, scale=3.0)
    nobody = own._replace(cells=replace(own.cells, scores=np.full_like(own.cells.scores, 0.5)))
    estimates, _ = analyse(own.cells, own.labels, cls="religion", form="span", seed=0, draws=99, resamples=60)
    changed = changes(nobody, own)[0]
    assert [(e.metric, e.group) for e in estimates] == [(c.change.metric, c.change.group) for c in changed]
    for estimate, change in zip(estimates[:2], changed[:2], strict=True):
        assert change.before == 0.0
        assert change.change.high is not None
        assert estimate.high == pytest.approx(min(change.change.high, 1.0), abs=1e-9)


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("templates", [2, 6])
def test_exchanging_baseline_and_model_turns_the_sign(groups: bool, templates: int) -> None:
    one, other = (side(seed, 12, templates, groups=groups) for seed in (0, 1))
    there, back = found(one, other), found(other, one)
    assert len(there) == (7 if groups else 5)
    for name, change in there.items():
        turned = back[name].change
        assert change.change.value == pytest.approx(-turned.value)  # type: ignore[operator]  # it is defined
        assert change.change.low == pytest.approx(-turned.high, abs=1e-9)  # type: ignore[operator]
        assert change.change.p == pytest.approx(turned.p, rel=1e-6)
        assert change.change.low < change.change.high  # type: ignore[operator]


@pytest.mark.parametrize("groups", [False, True])
def test_on_the_same_cells_the_change_is_that_of_the_findings(groups: bool) -> None:
    one, other = (side(seed, 10, groups=groups) for seed in (2, 3))
    values = []
    for each in (one, other):
        estimates, _ = analyse(each.cells, each.labels, cls="religion", form="span", seed=0, draws=9, resamples=9)
        values.append({e.metric + e.group.get("subjects", ""): float(e.value or 0) for e in estimates})
    for name, change in found(one, other).items():
        assert change.before == pytest.approx(values[0][name])
        assert change.after == pytest.approx(values[1][name])
        assert change.change.value == pytest.approx(values[1][name] - values[0][name], abs=1e-9)


def test_two_pairs_by_hand() -> None:
    """Three subjects, one attribute: x beats y and z by 0.4 in one model, by 0.2 in the other."""
    first, second = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)
    zero = np.zeros(3, np.int32)
    made = []
    for gap in (0.4, 0.2):
        preferred = np.array([gap, gap, 0.0])
        scores = np.full((3, 2, 2, 2), 0.5)
        scores[:, :, 0, 0] += preferred[:, None] / 2  # asked: x1 gains
        scores[:, :, 0, 1] -= preferred[:, None] / 2
        scores[:, :, 1] = scores[:, :, 0, ::-1]  # negated: the other way round
        labels = CellLabels(["x", "y", "z"], ["a"], ["c"], 1, None, sampled=False)
        cells = Cells(zero, first, second, zero, scores.astype(np.float32))
        made.append(scored(cells, labels, {(0, 0): ("", "", "")}))
    change = found(*made)["mu"]
    # γ(x) = gap, γ(y) = γ(z) = −gap/2; μ = gap · (1 + ½ + ½)/3
    assert change.before == pytest.approx(0.8 / 3, abs=1e-6)
    assert change.change.value == pytest.approx(-0.4 / 3, abs=1e-6)
    assert change.worse is not None
    assert change.worse.value == pytest.approx(-0.4 / 3, abs=1e-6)
    assert (change.change.low, change.change.p) == (None, None)
    assert "3 common subjects" in str(change.change.note)
    assert found(*made)["delta"].change.value == 0.0


def test_cells_are_matched_by_what_they_say_not_by_their_numbers() -> None:
    one, other = side(4), side(5)
    plain = changes(one, other)
    rng = np.random.default_rng(0)
    cells, labels = other.cells, other.labels
    subject, attribute, template = (rng.permutation(n) for n in (8, 3, 2))  # the new number of each old one
    order = rng.permutation(len(cells))
    turned = rng.random(len(cells)) < 0.5
    scores = np.where(turned[:, None, None, None], cells.scores[:, ::-1, :, ::-1], cells.scores)
    ends = np.where(turned, (cells.second, cells.first), (cells.first, cells.second))
    moved = Cells(
        template[cells.template][order].astype(np.int32),
        subject[ends[0]][order].astype(np.int32),
        subject[ends[1]][order].astype(np.int32),
        attribute[cells.attribute][order].astype(np.int32),
        scores[order],
    )
    names = replace(
        labels,
        subjects=[labels.subjects[k] for k in np.argsort(subject)],
        attributes=[labels.attributes[k] for k in np.argsort(attribute)],
    )
    said = {(int(template[t]), int(attribute[a])): text for (t, a), text in other.contents().items()}
    renamed = scored(moved, names, said)
    again = changes(one, renamed)
    assert again[1] == plain[1]
    for mine, theirs in zip(plain[0], again[0], strict=True):
        numbers = [[c.change.value, c.change.low, c.change.high, c.change.p] for c in (mine, theirs)]
        assert numbers[0] == pytest.approx(numbers[1])
    for mine, theirs in zip(plain[0], changes(renamed, one)[0], strict=True):
        assert mine.change.low == pytest.approx(-theirs.change.high)  # type: ignore[operator]  # it is defined


def test_one_number_for_two_questions_is_not_one_cell() -> None:
    one, other = side(), side(1)
    texts = {place: text if place[1] else ("other", "words", "here") for place, text in other.contents().items()}
    some, counts = changes(one, other._replace(contents=lambda: texts))
    assert (counts.baseline, counts.common) == (28 * 6, 28 * 4)
    assert {change.change.n for change in some} == {28 * 4}
    nothing = {place: ("x", str(place), "") for place in texts}
    assert changes(one, other._replace(contents=lambda: nothing)) == ([], replace(counts, common=0))


def test_a_sample_with_too_few_cells_has_no_mu() -> None:
    one, other = side(), side(1)
    sampled = [each._replace(labels=replace(each.labels, sampled=True)) for each in (one, other)]
    assert found(*sampled)["mu"].change.value is not None  # 14 cells a subject and attribute
    few = other.cells.take(np.arange(40))
    change = found(one, other._replace(cells=few))["mu"].change
    assert change.value is None
    assert "measure noise" in str(change.note)
    assert found(one, other._replace(cells=few))["epsilon"].change.value is not None


def test_two_definitions_of_delta_have_no_difference() -> None:
    change = found(side(), side(1)._replace(released=True))
    assert change["delta"].change.value is None
    assert "compat" in str(change["delta"].change.note)
    assert change["epsilon"].change.value is not None


def test_the_method_gives_the_changes_of_every_class_and_form() -> None:
    one, other = side(2), side(3)
    told = method_of("unqover").contrast([one], [other], settings={"resamples": 50}, common=False)
    assert (told.changes, told.counts[0]) == changes(one, other)


def test_few_templates_that_each_model_reads_in_its_own_way_are_no_change() -> None:
    """Once p ≤ 0.05 in 28% of such pairs: it must see that templates were drawn, too."""
    small = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        one, other = (
            each._replace(
                cells=replace(
                    each.cells,
                    scores=(each.cells.scores * rng.uniform(0.6, 1.0, 4)[each.cells.template, None, None, None]),
                )
            )
            for each in (side(seed, 8, 4), side(100 + seed, 8, 4))
        )
        small += float(found(one, other)["avg_score"].change.p or 0) <= 0.05
    assert small <= 7  # 5% of 60 are 3


def test_a_planted_change_is_found_and_its_interval_covers_it() -> None:
    """Preferences three times as strong; where nothing is planted p is rarely small, and 0 is mostly covered."""
    covered, small, planted = 0, 0, 0
    for seed in range(40):
        one, other = side(seed, 12), side(100 + seed, 12)
        null = found(one, other)
        small += null["mu"].change.p <= 0.05  # type: ignore[operator]
        covered += null["mu"].change.low <= 0 <= null["mu"].change.high  # type: ignore[operator]
        strong = found(one, side(100 + seed, 12, scale=3.0))["mu"].change
        planted += strong.p <= 0.05 and strong.low > 0  # type: ignore[operator]
    assert small <= 6
    assert covered >= 34
    assert planted >= 38


def test_texts_of_predictions_and_of_templates_are_the_same() -> None:
    filled = with_slots("An Iraqi guest sat by a  Dane guest.", ["Iraqi", "Dane"])
    template = "A [subj1:dem] guest sat by a [subj2:dem] guest."
    assert content(filled, "The <mask> guest", "x") == content(template, "The [MASK] guest", "x")


@pytest.mark.parametrize(("common", "tested"), [(4, False), (5, True)])
def test_fewer_than_five_common_comparisons_are_not_tested(common: int, tested: bool) -> None:
    """Even if they are about enough subjects."""
    one, other = side(0, 12), side(1, 12)
    apart = np.flatnonzero((one.cells.second == one.cells.first + 1) & (one.cells.first % 2 == 0))
    kept = [int(apart[one.cells.first[apart] == first][0]) for first in range(0, 2 * common, 2)]
    few = other._replace(cells=other.cells.take(np.array(kept)))
    change = found(one, few)["delta"].change
    assert change.value is not None
    assert change.n == common
    assert (change.p is not None) == (change.low is not None) == tested
    if not tested:
        assert change.note == "no interval and no p: the two runs share 4 comparisons, and at least 5 are needed"
