"""Going through a study: what is called, what is done again when something changes, and what failures leave."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import Any

import pytest

from assay.cli import main
from assay.errors import DataError, ModelError, UsageError
from assay.lab.studies import StepState, plan, study
from assay.lab.studies.study_file import read_study
from assay.lab.studies.study_record import open_record
from assay.models import find_model
from assay.models.base import ModelSpec
from raising import raises

pytestmark = pytest.mark.slow

MODELS = ["siqa", "inlp-gender", "cda-gender", "cda-gender-siqa"]
COMPARED = ["sodapop--inlp-gender", "sodapop--cda-gender-siqa", "unqover--cda-gender"]
RUNS = ["sodapop--siqa", "sodapop--inlp-gender", "sodapop--cda-gender-siqa", "unqover--base", "unqover--cda-gender"]


def made(bench: Any) -> list[str]:
    return bench.fakes.of("train") + bench.fakes.of("debias")


def test_everything_is_made_and_asked_once(bench: Any) -> None:
    done = bench.run()
    assert not done.failures
    assert done.exit_code == 0
    assert sorted(made(bench)) == sorted(MODELS)
    assert bench.fakes.of("audit") == RUNS
    assert bench.fakes.of("compare") == COMPARED
    again = bench.run()
    assert not bench.fakes.calls
    assert again.page == done.page == bench.out / "report.html"


def test_what_is_handed_on(bench: Any) -> None:
    bench.run(device="cpu")
    siqa, inlp = bench.fakes.arguments("siqa"), bench.fakes.arguments("inlp-gender")
    assert (siqa["kind"], siqa["base"], siqa["preset"], siqa["seed"]) == ("choice", "builtin", "sodapop", 7)
    assert siqa["data"] == bench.folder / "train.jsonl"
    assert siqa["settings"] == {"max_steps": "3"}
    assert (inlp["method"], inlp["model"]) == ("inlp", f"hf:{bench.out}/models/siqa")
    assert inlp["corpus"] == bench.folder / "text.txt"
    assert (inlp["attribute"], inlp["device"]) == ("gender", "cpu")
    asked = bench.fakes.arguments("sodapop--inlp-gender")
    assert asked["model"] == f"hf:{bench.out}/models/inlp-gender"
    assert asked["settings"]["fill_model"] == "builtin"
    assert asked["options"].device == "cpu"
    assert bench.fakes.arguments("unqover--base")["options"].device == "auto", "the built-in model has no choice"


def test_what_is_folded_is_computed_exactly_whatever_the_other_steps_compute_in(bench: Any) -> None:
    assert not bench.run(dtype="bfloat16").failures
    assert bench.fakes.arguments("inlp-gender")["dtype"] == "auto"
    assert bench.fakes.arguments("siqa")["dtype"] == "bfloat16"
    assert bench.fakes.arguments("cda-gender")["dtype"] == "bfloat16"


def ready_model(bench: Any, name: str, architecture: str, more: str = "") -> None:
    """A ready model in a folder beside the study file."""
    bench.fakes._model(bench.folder / name, architecture, {})
    bench.text = bench.text.replace("[[runs]]", f'[models.{name}]\nspec = "hf:./{name}"\n{more}\n[[runs]]', 1)


INLP = """
[models.inlp-ready]
debias = "inlp"
model = "ready"
attribute = "gender"
corpus = "text.txt"
eval = "dev.jsonl"
"""


def test_what_it_cost_to_debias_a_ready_model_is_measured_too(bench: Any) -> None:
    ready_model(bench, "ready", "BertForMultipleChoice", INLP)
    done = bench.run(only=["inlp-ready"])
    assert not done.failures
    assert done.record["models"]["inlp-ready"]["scores"]["estimates"][0]["value"] == pytest.approx(0.5)


def test_a_model_without_a_head_is_refused_with_its_line(bench: Any) -> None:
    ready_model(bench, "ready", "BertModel", INLP)
    error = bench.refused()
    assert (error.code, error.key, error.line) == ("unsupported", "model", bench.line("model", "[models.inlp-ready]"))


def test_bad_words_are_noticed_before_anything_runs(bench: Any) -> None:
    (bench.folder / "words.json").write_text('{"gender": [["He", "she"]]}')
    place = bench.text.index("[models.inlp-gender]")
    bench.text = bench.text[:place] + bench.text[place:].replace('"gender"\n', '"gender"\nwords = "words.json"\n', 1)
    error = bench.refused()
    assert (error.code, error.file, error.key) == ("bad-list", bench.folder / "words.json", "gender")


def test_models_that_are_asked_in_different_forms_are_not_compared(bench: Any) -> None:
    ready_model(bench, "lm", "BertForMaskedLM")
    ready_model(bench, "qa", "BertForQuestionAnswering", 'baseline = "lm"\n')
    bench.text += '\n[[runs]]\nprobe = "unqover"\nmodels = ["lm", "qa"]\nlimit = 50\n'
    planned = plan(bench.file, bench.out, makers=bench.fakes.makers)
    assert "compare--unqover--qa" not in [step.name for step, _ in planned.steps]
    said = "unqover--qa is not compared with unqover--lm: the two are asked in different forms"
    assert said in planned.study.schedule.notes


def test_a_made_model_may_fill_masks_for_others(bench: Any) -> None:
    bench.text = bench.text.replace('fill_model = "base"', 'fill_model = "cda-gender"')
    bench.run(only=["sodapop--siqa"])
    assert sorted(made(bench)) == ["cda-gender", "siqa"]
    assert bench.fakes.arguments("sodapop--siqa")["settings"]["fill_model"] == f"hf:{bench.out}/models/cda-gender"


def test_a_change_makes_again_only_what_depends_on_it(bench: Any) -> None:
    bench.run()
    before = (bench.out / "models" / "inlp-gender" / "model.safetensors").read_bytes()
    bench.text = bench.text.replace("rounds = 2", "rounds = 3")
    planned = plan(bench.file, bench.out, makers=bench.fakes.makers)
    changed = [step.name for step, state in planned.steps if state is not StepState.DONE]
    assert changed == ["inlp-gender", "sodapop--inlp-gender", "compare--sodapop--inlp-gender"]
    bench.run()
    assert made(bench) == ["inlp-gender"]
    assert bench.fakes.of("audit") == ["sodapop--inlp-gender"]
    assert bench.fakes.of("compare") == ["sodapop--inlp-gender"]
    kept = bench.out / "replaced" / "models" / "inlp-gender-1" / "model.safetensors"
    assert kept.read_bytes() == before, "hours of work are set aside, not removed"


def test_a_change_at_the_root_reaches_everything_below(bench: Any) -> None:
    bench.run()
    place = bench.text.index("[models.siqa]")
    bench.text = bench.text[:place] + bench.text[place:].replace("max_steps = 3", "max_steps = 4", 1)
    bench.run()
    assert made(bench) == ["siqa", "inlp-gender"]
    assert bench.fakes.of("audit") == ["sodapop--siqa", "sodapop--inlp-gender"]


@pytest.mark.parametrize(
    ("name", "again"), [("train.jsonl", ["siqa", "cda-gender-siqa", "inlp-gender"]), ("text.txt", MODELS[1:])]
)
def test_other_data_make_again_what_was_learnt_from_them(bench: Any, name: str, again: list[str]) -> None:
    bench.run()
    (bench.folder / name).write_text("something else")
    bench.run()
    assert sorted(made(bench)) == sorted(again)


def test_titles_comments_and_new_entries_change_nothing_else(bench: Any) -> None:
    bench.run()
    bench.text = "# a comment\n" + bench.text.replace('title = "CDA"', 'title = "Swapped"')
    bench.text += '\n[[runs]]\nprobe = "bbq-starter"\nmodels = "siqa"\n'
    bench.run()
    assert [name for _, name, _ in bench.fakes.calls] == ["bbq-starter--siqa"]


def test_labels_beside_the_data_count(bench: Any) -> None:
    (bench.folder / "train-labels.lst").write_text("1\n")
    bench.run()
    (bench.folder / "train-labels.lst").write_text("2\n")
    bench.run()
    assert "siqa" in made(bench)


def test_labels_beside_data_with_a_dot_in_their_name_count(bench: Any) -> None:
    bench.text = bench.text.replace('"train.jsonl"', '"siqa.train.jsonl"')
    (bench.folder / "siqa.train.jsonl").write_text("{}")
    (bench.folder / "siqa.train-labels.lst").write_text("1\n")
    bench.run()
    (bench.folder / "siqa.train-labels.lst").write_text("2\n")
    bench.run()
    assert "siqa" in made(bench)


def test_a_model_that_is_gone_is_made_again_and_asked_again(bench: Any) -> None:
    bench.run()
    shutil.rmtree(bench.out / "models" / "inlp-gender")
    bench.run()
    assert made(bench) == ["inlp-gender"]
    assert bench.fakes.of("audit") == ["sodapop--inlp-gender"], "its weights may be others now"


def test_a_run_that_is_other_than_when_it_was_compared_is_compared_again(bench: Any) -> None:
    bench.run()
    record = json.loads((bench.out / "study.json").read_text())
    record["runs"]["unqover--base"]["findings"] = "0" * 64
    (bench.out / "study.json").write_text(json.dumps(record))
    assert not bench.run().failures
    assert [(what, name) for what, name, _ in bench.fakes.calls] == [("compare", "unqover--cda-gender")]
    assert (bench.out / "replaced" / "compare" / "unqover--cda-gender-1" / "comparison.json").is_file()


def test_a_comparison_that_was_interrupted_is_made_when_the_study_goes_on(bench: Any) -> None:
    bench.run()
    (bench.out / "compare" / "unqover--cda-gender" / "comparison.json").unlink()
    assert not bench.run().failures
    assert [(what, name) for what, name, _ in bench.fakes.calls] == [("compare", "unqover--cda-gender")]


def test_what_was_made_from_a_model_is_made_again_when_that_one_is_another_now(bench: Any) -> None:
    bench.run()
    shutil.rmtree(bench.out / "models" / "siqa")
    bench.fakes.version = 1
    bench.run()
    assert made(bench) == ["siqa", "inlp-gender"], "its weights differ, though its recipe is the same"
    assert bench.fakes.of("audit") == ["sodapop--siqa", "sodapop--inlp-gender"]
    bench.run()
    assert not bench.fakes.calls


def test_a_record_without_digests_of_runs_is_not_compared_again_and_again(bench: Any) -> None:
    bench.run()
    record = json.loads((bench.out / "study.json").read_text())
    for run in record["runs"].values():
        del run["findings"]
    (bench.out / "study.json").write_text(json.dumps(record))
    bench.run()
    assert not bench.fakes.calls


def test_a_failure_loses_only_what_needs_it(bench: Any) -> None:
    bench.fakes.broken["siqa"] = UsageError("no space left.", "Free some.")
    bench.fakes.broken["unqover--base"] = ModelError("its scores are no numbers.", "Choose another.")
    done = bench.run()
    assert [failure.step for failure in done.failures] == [
        "siqa",
        "sodapop--siqa",
        "inlp-gender",
        "sodapop--inlp-gender",
        "unqover--base",
        "compare--sodapop--inlp-gender",
        "compare--sodapop--cda-gender-siqa",
        "compare--unqover--cda-gender",
    ]
    left_out = ["sodapop--siqa", "sodapop--siqa", "unqover--base"]
    assert [failure.because for failure in done.failures] == [None, "siqa", "siqa", "inlp-gender", None, *left_out]
    assert done.exit_code == 2, "that of the first failure"
    assert bench.fakes.of("audit") == ["sodapop--cda-gender-siqa", "unqover--base", "unqover--cda-gender"]
    assert done.record["models"]["siqa"]["error"]["problem"] == "no space left."
    assert "finished" not in done.record
    bench.fakes.broken.clear()
    done = bench.run()
    assert not done.failures
    assert "error" not in done.record["models"]["siqa"]
    assert sorted(made(bench)) == ["inlp-gender", "siqa"]


def test_a_crash_in_a_library_is_one_failure_with_its_traceback_kept(bench: Any) -> None:
    bench.fakes.broken["sodapop--siqa"] = RuntimeError("CUDA error\nand more")
    done = bench.run()
    assert [failure.step for failure in done.failures if failure.error is not None] == ["sodapop--siqa"]
    assert done.failures[0].error is not None
    assert done.failures[0].error.code == "step-failed"
    assert "CUDA error" in done.failures[0].error.problem
    assert done.exit_code == 4
    assert "Traceback" in (bench.out / "logs" / "sodapop--siqa.txt").read_text()


def test_an_interruption_stops_and_the_next_call_goes_on(bench: Any) -> None:
    bench.fakes.broken["cda-gender"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    assert "cda-gender-siqa" not in made(bench)
    bench.fakes.broken.clear()
    assert not bench.run().failures
    assert sorted(made(bench)) == ["cda-gender", "cda-gender-siqa"]


def test_a_model_that_was_only_not_noted_is_not_made_again(bench: Any) -> None:
    bench.run()
    record = json.loads((bench.out / "study.json").read_text())
    del record["models"]["siqa"]["digest"]
    (bench.out / "study.json").write_text(json.dumps(record))
    assert not bench.run().failures
    assert "siqa" not in made(bench)


def test_study_json_says_what_was_done(bench: Any) -> None:
    bench.run()
    record = json.loads((bench.out / "study.json").read_text())
    assert {*record["models"]} == {*MODELS}
    assert {*record["runs"]} == {*RUNS}
    compared = record["comparisons"]["compare--sodapop--inlp-gender"]
    assert (compared["run"], compared["baseline"]) == ("sodapop--inlp-gender", "sodapop--siqa")
    assert compared["from"] == {
        name: record["runs"][name]["findings"] for name in ("sodapop--siqa", "sodapop--inlp-gender")
    }
    assert record["versions" if "versions" in record else "last"]["versions"]["assay"]
    assert record["ready"]["base"]["spec"] == "builtin"
    assert len(record["ready"]["base"]["digest"]) == 64
    for known in (*record["models"].values(), *record["runs"].values()):
        assert len(known["recipe"]) == 64
        assert {"started", "finished", "seconds"} <= known.keys()
    assert record["models"]["siqa"]["scores"]["estimates"][0]["value"] == 0.6
    assert record["models"]["inlp-gender"]["scores"]["estimates"][0]["low"] == pytest.approx(0.48)
    assert record["finished"]
    assert (bench.out / "study.toml").read_text() == bench.text


def test_a_folder_that_holds_something_else_is_refused(bench: Any) -> None:
    bench.out.mkdir()
    (bench.out / "precious.txt").write_text("mine")
    error = bench.refused()
    assert (error.code, error.file) == ("not-new", bench.out)
    (bench.out / "precious.txt").unlink()
    bench.run()
    bench.text = bench.text.replace('name = "mine"', 'name = "yours"')
    with raises("other-run", UsageError, file=bench.out):
        bench.run()


def test_a_plan_makes_nothing(bench: Any) -> None:
    planned = plan(bench.file, bench.out, makers=bench.fakes.makers)
    assert not bench.fakes.calls
    assert not bench.out.exists()
    sizes = {step.name: getattr(step, "questions", 0) for step, _ in planned.steps}
    assert sizes["unqover--base"] > 0
    assert sizes["sodapop--siqa"] == sizes["sodapop--inlp-gender"] > 1000


# --- models of the hub


class Hub:
    """Finds models by name without a network; notes which were asked for."""

    def __init__(self, *abilities: str) -> None:
        self.abilities, self.asked = frozenset(abilities), list[str]()

    def find(self, name: str, options: Any) -> ModelSpec:
        if not name.startswith("hf:org/"):
            return find_model(name, options)
        self.asked.append(name)
        if "gone" in name:
            raise UsageError(f"the model {name} is not to be had.", "Check the name.", code="unknown-model")
        return ModelSpec(name, "hf", "/place", "d" * 64, self.abilities, "cpu", "float32", revision="r1")


def on_hub(bench: Any, spec: str) -> None:
    bench.text = bench.text.replace('spec = "builtin"', f'spec = "{spec}"')


def test_models_of_the_hub_are_fetched_before_anything_runs_and_not_for_a_plan(bench: Any) -> None:
    hub = Hub("mask", "fill", "embed", "word", "token")
    on_hub(bench, "hf:org/bert@r1")
    makers = replace(bench.fakes.makers, find=hub.find)
    planned = plan(bench.file, bench.out, makers=makers)
    assert not hub.asked
    assert {step.name: step for step, _ in planned.steps}["unqover--base"].questions > 0

    def audit(model: str, probe: str, **more: Any) -> None:
        bench.fakes.audit(model if "models" in model else "builtin", probe, **more)

    done = study(bench.file, bench.out, makers=replace(makers, audit=audit))
    assert not done.failures
    assert hub.asked[0] == "hf:org/bert@r1"
    assert done.record["ready"]["base"] == {
        "title": "the base",
        "spec": "hf:org/bert@r1",
        "digest": "d" * 64,
        "revision": "r1",
    }
    planned = plan(bench.file, bench.out, makers=makers)
    assert {state for _, state in planned.steps} == {StepState.DONE}


def test_a_hub_model_that_is_not_to_be_had_stops_everything_at_once(bench: Any) -> None:
    bench.text = bench.text.replace("[models.siqa]", '[models.other]\nspec = "hf:org/gone"\n\n[models.siqa]')
    bench.text += '\n[[runs]]\nprobe = "bbq-starter"\nmodels = "other"\n'
    makers = replace(bench.fakes.makers, find=Hub("choice").find)
    with raises("unknown-model", DataError, file=bench.file, line=bench.line("spec", "[models.other]"), key="spec"):
        study(bench.file, bench.out, makers=makers)
    assert not bench.fakes.calls
    assert not study(bench.file, bench.out, makers=makers, only=["unqover--base"]).failures, "it is not needed for that"


def test_a_hub_model_that_cannot_answer_is_noticed_once_it_is_there(bench: Any) -> None:
    bench.text = bench.text.replace("[models.siqa]", '[models.other]\nspec = "hf:org/llm"\n\n[models.siqa]')
    bench.text += '\n[[runs]]\nprobe = "sodapop-names"\nmodels = "other"\n'
    makers = replace(bench.fakes.makers, find=Hub("choice", "text", "word").find)
    assert plan(bench.file, bench.out, makers=makers).steps
    line = bench.line("models", 'probe = "sodapop-names"')
    with raises("missing-ability", DataError, file=bench.file, line=line, key="models"):
        study(bench.file, bench.out, makers=makers)
    assert not bench.fakes.calls


# --- other sittings


def test_a_run_that_began_on_another_device_begins_anew(bench: Any) -> None:
    bench.fakes.broken["unqover--base"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        bench.run(only=["unqover--base"])
    bench.fakes.broken.clear()
    begun = bench.out / "runs" / "unqover--base"
    begun.mkdir(parents=True)
    (begun / "run.json").write_text(json.dumps({"identity": {"device": "cuda", "dtype": "float32"}}))
    assert not bench.run(only=["unqover--base"]).failures
    assert (bench.out / "replaced" / "runs" / "unqover--base-1" / "run.json").is_file()


def test_two_programs_do_not_work_on_one_study(bench: Any) -> None:
    file = read_study(bench.file)
    with open_record(bench.out, file), raises("in-use", UsageError):
        bench.run()


def test_the_command_tells_failures_at_the_end_with_what_to_do(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.fakes.broken["siqa"] = UsageError("no space left.", "Free some.")
    monkeypatch.setattr("assay.lab.studies.StudyActions", lambda: bench.fakes.makers)
    assert main(["study", str(bench.file), "--out", str(bench.out)]) == 2
    said = capsys.readouterr()
    ending = said.err[said.err.index("assay: 6 steps were not done") :]
    assert "siqa failed: no space left.\n         Free some." in ending
    assert "inlp-gender is left out: it needs siqa, which failed" in ending
    assert str(bench.out / "report.html") in said.out
    bench.fakes.broken.clear()
    assert main(["study", str(bench.file), "--out", str(bench.out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "mine"
