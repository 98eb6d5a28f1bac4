"""The order of a study's steps, what patterns choose, and who is compared with whom."""

from __future__ import annotations

from typing import Any

import pytest

from assay.lab.studies import plan
from assay.lab.studies.study_file import read_study


def names(bench: Any, **more: Any) -> list[str]:
    return [step.name for step, _ in plan(bench.file, bench.out, makers=bench.fakes.makers, **more).steps]


def test_every_step_comes_after_what_it_needs_and_runs_as_soon_as_they_can(bench: Any) -> None:
    assert names(bench) == [
        "siqa",
        "sodapop--siqa",
        "inlp-gender",
        "sodapop--inlp-gender",
        "cda-gender",
        "cda-gender-siqa",
        "sodapop--cda-gender-siqa",
        "unqover--base",
        "unqover--cda-gender",
        "compare--sodapop--inlp-gender",
        "compare--sodapop--cda-gender-siqa",
        "compare--unqover--cda-gender",
    ]


def test_entries_may_stand_in_any_order(bench: Any) -> None:
    head, *entries = bench.text.split("\n[")
    bench.text = "\n[".join([head, *reversed(entries)])
    planned = plan(bench.file, bench.out, makers=bench.fakes.makers)
    seen = {"base"}
    for step, _ in planned.steps:
        assert {*step.needs} <= seen, step.name
        seen.add(step.name)
    assert len(seen) == 13


def test_a_model_that_no_run_asks_is_made_at_the_end(bench: Any) -> None:
    bench.text = bench.text.replace('models = ["siqa", "inlp-*", "*-siqa"]', 'models = ["siqa"]')
    assert names(bench)[-3:] == ["inlp-gender", "cda-gender-siqa", "compare--unqover--cda-gender"]


def test_only_takes_what_the_chosen_steps_need(bench: Any) -> None:
    assert names(bench, only=["sodapop--inlp-*"]) == ["siqa", "inlp-gender", "sodapop--inlp-gender"]
    assert names(bench, only=["unqover--base"]) == ["unqover--base"]
    assert names(bench, only=["compare--unqover--*"]) == [
        *("cda-gender", "unqover--base", "unqover--cda-gender", "compare--unqover--cda-gender")
    ]
    error = bench.refused(only=["sodapop-*-*x"])
    assert (error.code, error.key) == ("bad-option", "only")


def test_a_pattern_leaves_out_who_cannot_answer_and_a_sign_takes_out(bench: Any) -> None:
    bench.text = bench.text.replace('models = ["siqa", "inlp-*", "*-siqa"]', 'models = ["*", "!cda-*"]')
    bench.text = bench.text.replace('"base", "cda-gender"', '"base"')
    planned = plan(bench.file, bench.out, makers=bench.fakes.makers)
    asked = [run.name for run in planned.study.schedule.runs]
    assert asked == ["sodapop--base", "sodapop--siqa", "sodapop--inlp-gender", "unqover--base"]
    bench.text = bench.text.replace('probe = "unqover"\nmodels = ["base"]', 'probe = "unqover"\nmodels = "*"')
    planned = plan(bench.file, bench.out, makers=bench.fakes.makers)
    asked = [run.name for run in planned.study.schedule.runs if run.probe == "unqover"]
    assert asked == ["unqover--base", "unqover--cda-gender"]
    left_out = "unqover is not run on siqa, which cannot answer mask or span or text questions"
    assert left_out in planned.study.schedule.notes


def test_a_run_is_compared_with_that_of_the_baseline_which_was_asked_the_same(bench: Any) -> None:
    again = bench.text[bench.text.index("[[runs]]") :].replace("[[runs]]", '[[runs]]\nname = "more"\nlimit = 100')
    bench.text = bench.text + again.replace('"base", "cda-gender"', '"cda-gender"')
    pairs = [name for name in names(bench) if name.startswith("compare--")]
    assert pairs == [
        "compare--sodapop--inlp-gender",
        "compare--sodapop--cda-gender-siqa",
        "compare--unqover--cda-gender",
        "compare--sodapop--inlp-gender--more",
        "compare--sodapop--cda-gender-siqa--more",
    ], "cda-gender is asked more, base is not"
    steps = {step.name: step for step, _ in plan(bench.file, bench.out, makers=bench.fakes.makers).steps}
    assert steps["compare--sodapop--inlp-gender--more"].needs == ("sodapop--siqa--more", "sodapop--inlp-gender--more")


def test_a_baseline_that_the_file_names_comes_first(bench: Any) -> None:
    bench.text = bench.text.replace('title = "CDA"\n', 'title = "CDA"\nbaseline = "inlp-gender"\n')
    steps = {step.name: step for step, _ in plan(bench.file, bench.out, makers=bench.fakes.makers).steps}
    assert steps["compare--sodapop--cda-gender-siqa"].needs == ("sodapop--inlp-gender", "sodapop--cda-gender-siqa")


@pytest.mark.parametrize(("seed", "baseline"), [(None, "siqa"), (1, "again"), (2, "again")])
def test_of_several_models_with_the_same_training_that_with_the_same_seed_is_the_baseline(
    bench: Any, seed: int | None, baseline: str
) -> None:
    start, end = bench.text.index("[models.siqa]"), bench.text.index("[models.inlp-gender]")
    again = bench.text[start:end].replace("[models.siqa]", "[models.again]\nseed = 1")
    bench.text = bench.text[:start] + again + bench.text[start:]
    if seed is not None:
        bench.text = bench.text.replace('title = "CDA"', f'title = "CDA"\nseed = {seed}')
    assert read_study(bench.file).baseline("cda-gender-siqa") == baseline


def test_settings_that_vary_give_a_run_each(bench: Any) -> None:
    bench.text = bench.text.replace(
        'settings = { fill_model = "base" }',
        'name = "both"\nsettings = { fill_model = "base" }\nvary = { distractors = ["per_name", "shared"] }',
    )
    bench.run(only=["sodapop--siqa*"])
    runs = bench.fakes.of("audit")
    assert runs == ["sodapop--siqa--both--distractors=per_name", "sodapop--siqa--both--distractors=shared"]
    assert [bench.fakes.arguments(run)["settings"]["distractors"] for run in runs] == ["per_name", "shared"]


def test_debiased_models_are_compared_with_what_they_were_made_from(bench: Any) -> None:
    lineage = read_study(bench.file)
    assert lineage.baseline("inlp-gender") == "siqa"
    assert lineage.baseline("cda-gender-siqa") == "siqa", "the same training from the base that was not debiased"
    assert lineage.baseline("cda-gender") == "base"
    assert lineage.baseline("siqa") is None
    assert [entry.name for entry in lineage.methods("cda-gender-siqa")] == ["cda-gender"]
    bench.text = bench.text.replace("[models.cda-gender-siqa]", '[models.cda-gender-siqa]\nbaseline = "inlp-gender"')
    assert read_study(bench.file).baseline("cda-gender-siqa") == "inlp-gender"


def test_another_training_is_no_baseline(bench: Any) -> None:
    place = bench.text.index("[models.cda-gender-siqa]")
    bench.text = bench.text[:place] + bench.text[place:].replace("max_steps = 3", "max_steps = 4", 1)
    assert read_study(bench.file).baseline("cda-gender-siqa") is None
