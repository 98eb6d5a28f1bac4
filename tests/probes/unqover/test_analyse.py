from dataclasses import replace

import numpy as np
import pytest

from assay.errors import DataError, ModelError, UsageError
from assay.probes.unqover.analyse import analyse, merged
from assay.probes.unqover.cells import CellLabels, Cells
from assay.results.findings import Findings
from assay.stats import benjamini_hochberg
from raising import raises


def plan(subjects, attributes=4, templates=6, *, groups=None, sampled=False):
    pairs = [(i, j) for j in range(subjects) for i in range(j) if groups is None or groups[i] != groups[j]]
    rows = [(t, i, j, a) for i, j in pairs for t in range(templates) for a in range(attributes)]
    template, first, second, attribute = np.array(rows, dtype=np.int32).T
    labels = CellLabels(
        [f"s{k}" for k in range(subjects)],
        [f"a{k}" for k in range(attributes)],
        [f"c{k % 2}" for k in range(attributes)],
        templates,
        groups,
        sampled,
    )
    return Cells(template, first, second, attribute, np.zeros((len(rows), 2, 2, 2), dtype=np.float32)), labels


def with_bias(cells, bias, noise=0.0, seed=0):
    """The cells with scores around ½ in which C is `bias`, plus noise."""
    swing = np.asarray(bias)[:, None, None, None] / 2 * np.array([[1, -1], [-1, 1]])
    scores = (
        0.5 + np.repeat(swing, 2, axis=1) + noise * np.random.default_rng(seed).uniform(-1, 1, (len(cells), 2, 2, 2))
    )
    return replace(cells, scores=scores.astype(np.float32))


def noisy(cells, seed=0):
    return replace(cells, scores=np.random.default_rng(seed).random((len(cells), 2, 2, 2), dtype=np.float32))


def run(cells, labels, **options):
    defaults = {"cls": "religion", "form": "span", "seed": 1, "draws": 199, "resamples": 199}
    return analyse(cells, labels, **(defaults | options))


def by_name(estimates, **group):
    return {e.metric: e for e in estimates if e.group == {"class": "religion", "form": "span", **group}}


GROUPS = ["female"] * 6 + ["male"] * 6


def test_estimates_and_columns_are_those_of_the_contract():
    cells, labels = plan(12, groups=GROUPS)
    estimates, tables = run(noisy(cells), labels)
    assert [(e.metric, dict(e.group)) for e in estimates] == [
        *((m, {"class": "religion", "form": "span"}) for m in ("mu", "eta", "delta", "epsilon", "avg_score")),
        *((m, {"class": "religion", "form": "span", "subjects": "pooled"}) for m in ("mu", "eta")),
    ]
    assert all(e.n == len(cells) and e.low is not None and e.contained for e in estimates)
    absolute = [e for e in estimates if e.metric in ("mu", "eta")]
    assert [e for e in estimates if e.corrected is not None] == absolute
    assert all(e.floor is not None and e.interval_of == "corrected" for e in absolute)
    assert all(
        (e.note is None) == (e.p <= 0.05) for e in absolute
    )  # else the interval starts at 0, and the note says so
    columns = {name: ",".join(table.columns) for name, table in tables.items()}
    assert columns == {
        "gamma": "class,form,subject,attribute,gamma,low,high,eta,p,q,n",
        "subjects": "class,form,subject,gamma,low,high,eta,p,q,n",
        "groups": "class,form,group,attribute,gamma,low,high,eta,p,q,n,attribute_class",
        "classes": "class,form,subject,region,attribute_class,gamma,low,high,eta,p,q,n",
    }
    assert [len(table.rows) for table in tables.values()] == [48, 12, 8, 24]
    assert "groups" not in run(*plan(6))[1]


def test_rows_fall_by_gamma_and_q_is_at_least_p():
    cells, labels = plan(8)
    _, tables = merged([run(noisy(cells), labels)])
    for table in tables.values():
        gammas = [row["gamma"] for row in table.records()]
        assert gammas == sorted(gammas, reverse=True)
    for row in tables["gamma"].records():
        assert 0 < row["p"] <= row["q"] <= 1
        assert row["low"] <= row["gamma"] <= row["high"]
        assert row["n"] == 7 * 6


def test_ties_are_sorted_by_name():
    cells, labels = plan(5)
    _, tables = run(cells, labels)
    assert [row[2:4] for row in tables["gamma"].rows] == [(f"s{x}", f"a{a}") for x in range(5) for a in range(4)]


def test_the_same_seed_gives_the_same_bytes_in_any_order_of_cells():
    cells, labels = plan(11, groups=["f"] * 6 + ["m"] * 5)
    cells = noisy(cells)
    order = np.random.default_rng(0).permutation(len(cells))
    shuffled = Cells(
        *(column[order] for column in (cells.template, cells.first, cells.second, cells.attribute, cells.scores))
    )

    def written(some, seed):
        estimates, tables = merged([run(some, labels, seed=seed)])
        return [Findings("unqover", "m", estimates, tables).to_json(), *(table.to_csv() for table in tables.values())]

    assert written(cells, 1) == written(cells, 1) == written(shuffled, 1)
    assert written(cells, 1) != written(cells, 2)


def test_numbers_have_ten_significant_digits():
    cells, labels = plan(12, groups=GROUPS)
    estimates, tables = run(noisy(cells), labels)
    numbers = [x for e in estimates for x in (e.value, e.low, e.high, e.floor, e.p) if x is not None]
    numbers += [x for table in tables.values() for row in table.rows for x in row if isinstance(x, float)]
    assert len(numbers) > 300
    assert all(x == float(f"{x:.10g}") for x in numbers)


def test_zero_scores_give_zero_everywhere_and_p_one():
    cells, labels = plan(12, groups=GROUPS)
    estimates, tables = merged([run(cells, labels)])
    assert all(e.value == e.low == 0 and e.contained for e in estimates)
    assert all(e.high == 0 for e in estimates if e.group.get("subjects") != "pooled" or e.metric != "eta")
    assert all(e.p == 1 for e in estimates if e.metric in ("mu", "eta"))
    assert all((row["gamma"], row["p"], row["q"]) == (0, 1, 1) for row in tables["gamma"].records())


def test_a_model_that_always_prefers_one_subject():
    cells, labels = plan(6)
    bias = np.where(cells.first == 0, 1.0, 0.0)  # pairs are (i, j) with i < j
    estimates, tables = run(with_bias(cells, bias), labels)
    subjects = {row["subject"]: row for row in tables["subjects"].records()}
    assert (subjects["s0"]["gamma"], subjects["s0"]["eta"]) == (1, 1)
    assert (subjects["s3"]["gamma"], subjects["s3"]["eta"]) == (-0.2, -0.2)
    assert by_name(estimates)["mu"].value == pytest.approx((1 + 5 * 0.2) / 6)


def test_planted_bias_is_found_and_nothing_else():
    cells, labels = plan(16)
    planted = (cells.attribute == 2) & ((cells.first == 5) | (cells.second == 5))
    bias = np.where(planted, np.where(cells.first == 5, 0.15, -0.15), 0.0)
    estimates, tables = merged([run(with_bias(cells, bias, noise=0.1), labels)])
    rows = list(tables["gamma"].records())
    assert (rows[0]["subject"], rows[0]["attribute"]) == ("s5", "a2")
    assert rows[0]["gamma"] == pytest.approx(0.15, abs=0.02)
    assert rows[0]["low"] < 0.15 < rows[0]["high"]
    assert rows[0]["q"] < 0.01
    assert sum(row["q"] < 0.05 for row in rows) <= 2
    mu = by_name(estimates)["mu"]
    assert mu.p < 0.05
    assert mu.value > mu.floor


def test_a_preference_between_groups_shows_in_the_pooled_numbers():
    cells, labels = plan(12, groups=GROUPS)
    female_first = np.array([GROUPS[i] == "female" for i in cells.first])
    bias = np.where(cells.attribute == 1, np.where(female_first, 0.2, -0.2), 0.0)
    estimates, tables = run(with_bias(cells, bias, noise=0.05), labels)
    top, bottom = (list(tables["groups"].records())[k] for k in (0, -1))
    assert (top["group"], bottom["group"], top["attribute"]) == ("female", "male", "a1")
    assert top["gamma"] == -bottom["gamma"] == pytest.approx(0.2, abs=0.01)
    assert top["p"] == bottom["p"] < 1e-6
    pooled = by_name(estimates, subjects="pooled")
    assert pooled["mu"].value == pytest.approx(top["gamma"])
    assert pooled["mu"].p < 0.01
    assert pooled["eta"].value < 0.5


def test_noise_alone_stays_near_its_floor():
    cells, labels = plan(14)
    mu = by_name(run(noisy(cells), labels)[0])["mu"]
    assert mu.value == pytest.approx(mu.floor, rel=0.25)
    assert mu.p > 0.01


def test_released_changes_delta_alone():
    cells, labels = plan(6)
    cells = noisy(cells)
    paper, released = (by_name(run(cells, labels, released=flag)[0]) for flag in (False, True))
    changed = np.abs(cells.scores[:, 0].astype(float) - cells.scores[:, 1])  # (cell, polarity, subject)
    assert paper["delta"].value == pytest.approx(changed[:, 0].mean())
    assert released["delta"].value == pytest.approx(changed.mean())
    assert {name: e for name, e in paper.items() if name != "delta"} == {
        name: e for name, e in released.items() if name != "delta"
    }


def test_fewer_than_five_subjects_have_numbers_but_no_intervals():
    for cells, labels in (plan(4), plan(10, groups=["f"] * 6 + ["m"] * 4)):
        estimates, tables = run(noisy(cells), labels)
        for estimate in estimates:
            assert estimate.value is not None
            assert estimate.low is estimate.high is None
            assert "4 subjects" in estimate.note
    rows = list(tables["gamma"].records())
    assert {row["subject"] for row in rows if row["low"] is None} == {f"s{k}" for k in range(6)}  # four partners each
    assert {row["subject"] for row in rows if row["low"] is not None} == {f"s{k}" for k in range(6, 10)}


def test_intervals_shrink_with_more_subjects():
    widths = []
    for subjects in (6, 12, 30):
        cells, labels = plan(subjects, templates=4)
        liking = np.random.default_rng(3).uniform(-0.2, 0.2, subjects)
        cells = with_bias(cells, liking[cells.first] - liking[cells.second], noise=0.05)
        delta = by_name(run(cells, labels)[0])["delta"]
        assert delta.low < delta.value < delta.high
        widths.append(delta.high - delta.low)
    assert widths[0] > widths[1] > widths[2]


def test_a_thin_sample_has_no_intensity_but_keeps_the_rest():
    cells, labels = plan(12, groups=GROUPS, sampled=True)
    chosen = np.random.default_rng(0).permutation(len(cells))[:60]
    thin = Cells(*(c[chosen] for c in (cells.template, cells.first, cells.second, cells.attribute, cells.scores)))
    estimates, _ = run(noisy(thin), labels)
    single, pooled = by_name(estimates), by_name(estimates, subjects="pooled")
    for name in ("mu", "eta"):
        assert single[name].value is None
        assert single[name].floor is None
        assert "2.5 comparisons per subject and attribute" in single[name].note
        assert pooled[name].value is not None  # 15 cells per (group, attribute)
    assert single["delta"].value is not None
    assert by_name(run(noisy(cells), labels)[0])["mu"].value is not None  # a sample that is dense enough
    assert by_name(run(noisy(thin), replace(labels, sampled=False))[0])["mu"].value is not None


def test_what_was_never_asked_has_no_row():
    cells, labels = plan(7)
    kept = ~((cells.attribute == 3) & ((cells.first == 2) | (cells.second == 2)))
    holes = Cells(*(c[kept] for c in (cells.template, cells.first, cells.second, cells.attribute, cells.scores)))
    _, tables = run(noisy(holes), labels)
    assert len(tables["gamma"].rows) == 7 * 4 - 1
    assert not [row for row in tables["gamma"].rows if row[2:4] == ("s2", "a3")]
    assert all(row[4] is not None for row in tables["gamma"].rows)


def test_subjects_without_cells_change_nothing():
    """A masked language model does not know all names: those left out are neither listed nor drawn."""
    cells, labels = plan(6)
    cells = noisy(cells)
    more = replace(labels, subjects=["unknown", *labels.subjects, "other"], templates=9)
    moved = replace(cells, first=cells.first + 1, second=cells.second + 1)
    assert run(moved, more) == run(cells, labels)


def test_nothing_asked_is_undefined_with_a_reason():
    cells, labels = plan(6)
    empty = Cells(*(c[:0] for c in (cells.template, cells.first, cells.second, cells.attribute, cells.scores)))
    estimates, tables = run(empty, labels)
    assert [(e.value, e.note) for e in estimates] == [(None, "nothing was asked")] * 5
    assert not tables["gamma"].rows


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -0.1, 1.1])
def test_scores_that_are_no_probabilities_are_refused(wrong):
    cells, labels = plan(5)
    cells.scores[3, 0, 1, 0] = wrong
    with raises("bad-scores", ModelError):
        run(cells, labels)


def test_impossible_cells_are_refused():
    cells, labels = plan(6)
    twice = Cells(
        *(np.concatenate((c, c)) for c in (cells.template, cells.first, cells.second, cells.attribute, cells.scores))
    )
    with raises("duplicate", DataError):
        run(twice, labels)
    mirrored = replace(twice, first=np.r_[cells.first, cells.second], second=np.r_[cells.second, cells.first])
    with raises("duplicate", DataError):
        run(mirrored, labels)
    with raises("bad-row", DataError):
        run(cells, replace(labels, groups=["f"] * 3 + ["m"] * 3))
    with raises("bad-row", DataError):
        run(replace(cells, second=cells.first), labels)
    with raises("bad-value", DataError, key="attribute"):
        run(replace(cells, attribute=cells.attribute + 1), labels)
    with raises("bad-value", DataError, key="scores"):
        run(replace(cells, scores=cells.scores[1:]), labels)
    with raises("bad-setting", UsageError, key="draws"):
        run(cells, labels, draws=0)


def test_merging_stacks_tables_and_keeps_estimates_in_order():
    one = run(*plan(6), cls="religion")
    cells, labels = plan(12, groups=GROUPS)
    two = run(noisy(cells), labels, cls="gender")
    estimates, tables = merged([one, two])
    assert [replace(each, q=None) for each in estimates] == [*one[0], *two[0]]
    for metric in ("mu", "eta"):
        tested = [each for each in estimates if each.metric == metric and each.p is not None]
        names = [each for each in tested if each.group["class"] == "gender" and "subjects" not in each.group]
        others = [each for each in tested if each not in names]  # grouped names, and classes without groups
        assert (len(names), len(others)) == (1, 2)
        for own in (names, others):
            q_of = benjamini_hochberg(np.array([each.p for each in own]))
            assert [each.q for each in own] == pytest.approx(q_of.tolist())
    both = [*one[1]["gamma"].records(), *two[1]["gamma"].records()]
    assert [{**row, "q": None} for row in tables["gamma"].records()] == both
    q = benjamini_hochberg(np.array([row["p"] for row in both], dtype=float))  # one family: all rows of a kind
    assert [row["q"] for row in tables["gamma"].records()] == pytest.approx(q.tolist())
    assert len(tables["groups"].rows) == len(two[1]["groups"].rows)
    assert list(tables) == ["gamma", "subjects", "groups", "classes"]
    assert merged([]) == ([], {})


def test_an_interval_reaches_down_to_0_just_where_chance_alone_gives_as_much():
    cells, labels = plan(12)
    chance = by_name(run(noisy(cells, seed=1), labels)[0])
    biased = by_name(run(with_bias(cells, np.full(len(cells), 0.2), noise=0.01), labels)[0])
    assert chance["mu"].p > 0.05
    assert chance["mu"].low == 0.0
    assert biased["mu"].p <= 0.05
    assert biased["mu"].low > 0.0


def test_the_classes_table_gives_a_countrys_region():
    cells, labels = plan(6)
    labels = replace(labels, regions={labels.subjects[0]: "Western Asia"})
    records = list(run(cells, labels)[1]["classes"].records())
    assert {r["region"] for r in records if r["subject"] == labels.subjects[0]} == {"Western Asia"}
    assert {r["region"] for r in records if r["subject"] != labels.subjects[0]} == {None}
