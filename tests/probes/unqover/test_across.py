"""Several models side by side."""

from __future__ import annotations

import pytest

from assay.probes.unqover.compare_runs import side_by_side
from assay.results.findings import Estimate, Findings, Table
from raising import raises


def found(
    gammas: dict[str, float | None], mu: float | None = 0.2, form: str = "span", cls: str = "religion"
) -> Findings:
    """Findings with γ(x) by subject, and with them as the γ of attributes of one group."""
    about = {"class": cls, "form": form}
    estimates = [Estimate("mu", about, mu, n=9, floor=0.1, note=None if mu is not None else "too few")]
    subjects = Table(("class", "form", "subject", "gamma"), [(cls, form, name, g) for name, g in gammas.items()])
    groups = Table(
        ("class", "form", "group", "attribute", "gamma"), [(cls, form, "all", name, g) for name, g in gammas.items()]
    )
    return Findings("unqover", "m", estimates, {"subjects": subjects, "groups": groups})


def table(name: str, *models: tuple[str, Findings]) -> list[dict[str, object]]:
    return list(side_by_side(models)[name].records())


def test_intensities_of_all_models():
    rows = table("intensity", ("a", found({"x": 0.1, "y": 0.0})), ("b", found({"x": 0.1, "y": 0.0}, mu=0.3)))
    assert [(row["metric"], row["model"], row["value"], row["floor"]) for row in rows] == [
        ("mu", "a", 0.2, 0.1),
        ("mu", "b", 0.3, 0.1),
    ]


def test_ranks_are_averaged_over_models():
    rows = table(
        "ranks",
        ("a", found({"x": 0.3, "y": 0.2, "z": 0.1})),
        ("b", found({"z": 0.9, "x": 0.5, "y": 0.1})),
    )
    assert [(row["subject"], row["mean_rank"], row["std_rank"], row["a"], row["b"]) for row in rows] == [
        ("x", 1.5, 0.5, 1.0, 2.0),
        ("z", 2.0, 1.0, 3.0, 1.0),
        ("y", 2.5, 0.5, 2.0, 3.0),
    ]


def test_ranks_are_over_the_subjects_that_all_models_have():
    rows = table("ranks", ("a", found({"x": 0.3, "y": 0.2, "z": 0.1})), ("b", found({"z": 0.9, "x": 0.5})))
    assert {row["subject"] for row in rows} == {"x", "z"}


def test_attributes_among_the_ten_strongest_of_every_model_are_shared():
    many = {f"a{k:02}": 1 - k / 100 for k in range(12)}
    other = dict(many, a00=-1.0)  # not among its ten strongest
    rows = table("shared", ("a", found(many)), ("b", found(other)))
    assert [(row["group"], row["attributes"]) for row in rows] == [("all", ", ".join(f"a{k:02}" for k in range(1, 10)))]


def test_the_shift_goes_from_language_models_to_fine_tuned_ones():
    rows = table("shift", ("lm", found({"x": 0.1}, mu=0.1, form="mask")), ("qa", found({"x": 0.2}, mu=0.25)))
    assert [(row["language_model"], row["fine_tuned"], row["shift"]) for row in rows] == [
        ("lm", "qa", pytest.approx(0.15))
    ]


def test_what_only_one_model_has_is_not_compared():
    tables = side_by_side([("a", found({"x": 0.1}, mu=None)), ("b", found({"x": 0.2}, mu=None, cls="ethnicity"))])
    assert tables == {}


def test_models_without_a_common_subject_cannot_be_ranked():
    with raises("not-comparable"):
        side_by_side([("a", found({"x": 0.1})), ("b", found({"y": 0.2}))])
