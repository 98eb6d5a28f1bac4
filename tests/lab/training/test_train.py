"""Training from end to end on tiny models: an ordinary model that learnt something comes out, the same every time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import ChoiceColumns
from assay.errors import ModelError
from assay.lab.training import evaluate, train
from assay.lab.training.choice import read_choice_data
from assay.models import find_model, load_model
from raising import raises

pytestmark = pytest.mark.training

Write = Callable[..., Path]
Base = Callable[..., str]
FAST = {"rate": "2e-3", "batch": "8"}


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_a_choice_model_learns_is_scored_and_says_how_it_was_made(
    tmp_path: Path, social_iqa: Write, small_base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, dev = social_iqa(tmp_path, rows=160), social_iqa(tmp_path, "dev", 80, seed=1)
    monkeypatch.setattr("sys.argv", ["/x/assay/__main__.py", "train", "choice", "--data", str(data), "--seed", "0"])
    before = evaluate("choice", small_base("choice"), data, device="cpu")
    done = train(
        "choice",
        small_base("choice"),
        data,
        tmp_path / "out",
        settings=FAST | {"epochs": "6"},
        evaluation=dev,
        device="cpu",
    )
    assert done.scores is not None
    assert evaluate("choice", done.model, data, device="cpu")["accuracy"].value > before["accuracy"].value + 0.2
    assert done.info["curve"][-1]["loss"] < 0.8 * done.info["curve"][0]["loss"]
    assert evaluate("choice", done.model, dev, device="cpu") == done.scores
    assert find_model(done.model).abilities == {"choice", "embed", "word"}

    info = json.loads((done.folder / "assay.json").read_text())
    assert info["base"]["digest"] == find_model(small_base("choice")).digest
    assert set(info["data"]) == {"train.jsonl", "train-labels.lst"}
    assert info["counts"] == {"questions": 160, "contexts": info["counts"]["contexts"], "options": 3} | {
        "contexts_cut": 0,
        "questions_left_out": 0,
    }
    assert (info["steps"], info["seed"], info["dtype"]) == (120, 0, "float32")
    assert info["scores"]["unit"] == "context"
    assert info["notes"] == ["length is 64, the most that the base reads, instead of 512"]
    card = (done.folder / "README.md").read_text()
    for said in (info["base"]["digest"], *info["data"].values(), "| batch | 8 |", "| accuracy | all |"):
        assert said in card
    assert "assay train choice --data ./train.jsonl --seed 0" in card
    assert str(tmp_path) not in card, "folders of this machine are not published"
    assert sorted(path.name for path in done.folder.iterdir()) == sorted([*info["files"], "README.md", "assay.json"])


def test_of_race_itself_train_is_learnt_and_dev_evaluated(
    tmp_path: Path, race: Callable[..., Path], small_base: Base
) -> None:
    for seed, part in enumerate(("train", "dev", "test")):
        race(tmp_path / "RACE" / part, seed)
    settings, more = {"max_steps": 1}, {"device": "cpu", "evaluation": tmp_path / "RACE"}
    done = train("choice", small_base(), tmp_path / "RACE", tmp_path / "out", settings=settings, **more)
    assert done.info["counts"]["questions"] == 8
    assert done.scores is not None
    assert done.scores["accuracy"].n == 8
    assert done.info["notes"][-1] == "only train/ of the folder was read, not dev/, test/"
    assert "only dev/ of the folder was read, not test/, train/" in (done.folder / "README.md").read_text()


def test_accuracy_is_the_share_of_questions_that_an_audit_answers_rightly(
    tmp_path: Path, social_iqa: Write, small_base: Base
) -> None:
    path = social_iqa(tmp_path, rows=50)
    data = read_choice_data(path)
    model: Any = load_model(small_base("choice"), device="cpu")
    logits = model.forward(model.encode(ChoiceColumns.of(data.queries)))["score"]
    found = evaluate("choice", small_base("choice"), path, device="cpu")["accuracy"]
    assert found.value == pytest.approx(float((logits.argmax(1) == np.array(data.labels)).mean()))
    assert (found.n, found.floor) == (50, pytest.approx(1 / 3))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra"])
def test_any_encoder_that_fills_masks_can_be_given_the_other_heads(
    tmp_path: Path, squad: Callable[..., Any], race: Write, small_base: Base, family: str
) -> None:
    (tmp_path / "squad.json").write_text(json.dumps(squad(3)))
    few = FAST | {"max_steps": "3"}
    span = train(
        "span", small_base("mask", family), tmp_path / "squad.json", tmp_path / "span", settings=few, device="cpu"
    )
    choice = train(
        "choice", small_base("mask", family), race(tmp_path / "race"), tmp_path / "choice", settings=few, device="cpu"
    )
    assert any("qa_outputs" in name for name in span.info["new_weights"])
    assert any("classifier" in name for name in choice.info["new_weights"])
    assert (
        "span" in load_model(span.model, device="cpu").spec.abilities
    )  # loads as a finished model: nothing is missing
    assert "choice" in load_model(choice.model, device="cpu").spec.abilities


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(
    tmp_path: Path, social_iqa: Write, small_base: Base
) -> None:
    data = social_iqa(tmp_path)
    made = [
        train("choice", small_base(), data, tmp_path / f"{n}", settings=FAST | {"epochs": "2"}, seed=seed, device="cpu")
        for n, seed in enumerate((3, 3, 4))
    ]
    assert weights(made[0].folder) == weights(made[1].folder) != weights(made[2].folder)
    assert (made[0].folder / "assay.json").read_bytes() == (made[1].folder / "assay.json").read_bytes()
    assert find_model(made[0].model).digest == find_model(made[1].model).digest


def test_training_leaves_the_callers_random_numbers_alone(tmp_path: Path, social_iqa: Write, small_base: Base) -> None:
    import random

    import torch

    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    expected = (random.random(), np.random.random(), torch.rand(1).item())
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    train("choice", small_base(), social_iqa(tmp_path), tmp_path / "out", settings={"max_steps": 2}, device="cpu")
    assert (random.random(), np.random.random(), torch.rand(1).item()) == expected


@pytest.mark.parametrize("kind", ["choice", "mask", "span"])
def test_accumulated_batches_take_the_steps_of_one_large_batch(
    tmp_path: Path, social_iqa: Write, squad: Callable[..., Any], prose: Callable[..., str], small_base: Base, kind: Any
) -> None:
    """Without dropout two batches of 4 must move the weights as one of 8 does; the loss is noted as their mean."""
    (tmp_path / "text.txt").write_text(prose(200))
    (tmp_path / "squad.json").write_text(json.dumps(squad(8)))
    data = {"choice": social_iqa(tmp_path), "mask": tmp_path / "text.txt", "span": tmp_path / "squad.json"}[kind]
    still = {"dropout": 0, "attention_dropout": 0, "rate": 1e-3, "max_steps": 3, "order": "random"}
    still |= {"masking": 0.9, "length": 8} if kind == "mask" else {}

    def curve(name: str, **settings: Any) -> list[dict[str, float]]:
        done = train(kind, small_base(), data, tmp_path / name, settings=still | settings, device="cpu")
        found: list[dict[str, float]] = done.info["curve"]
        return found

    one, two = curve("one", batch=8), curve("two", batch=4, accumulate=2)
    near = 0.1 if kind == "mask" else 1e-4  # other masks are drawn for other batches
    assert [point["loss"] for point in two] == pytest.approx([point["loss"] for point in one], rel=near)
    assert [point["rate"] for point in two] == [point["rate"] for point in one]
    assert len(one) == 3


def test_masked_training_lowers_the_perplexity_of_such_text(
    tmp_path: Path, prose: Callable[..., str], small_base: Base
) -> None:
    (tmp_path / "text.txt").write_text(prose(400))
    (tmp_path / "other.txt").write_text(prose(60, seed=1))
    before = evaluate("mask", small_base(), tmp_path / "other.txt", device="cpu", settings={"length": 32})
    done = train(
        "mask",
        small_base(),
        tmp_path / "text.txt",
        tmp_path / "out",
        settings={"rate": 3e-3, "max_steps": 60, "batch": 8, "length": 32},
        evaluation=tmp_path / "other.txt",
        device="cpu",
    )
    assert done.scores is not None
    assert done.scores["perplexity"].value < 0.5 * before["perplexity"].value
    assert done.scores.unit == "block"
    assert done.info["new_weights"] == []


def test_masked_training_takes_any_stream_of_texts_and_other_dropout(tmp_path: Path, small_base: Base) -> None:
    def texts() -> Iterator[str]:
        for name in ("Anna", "Ben", "Clara") * 20:
            yield f"{name} went to the garden with a lamp."

    settings = {"blocks": "apart", "max_steps": 4, "batch": 8, "dropout": 0.2, "attention_dropout": 0.15, "length": 16}
    about = {"method": "made for a test"}
    done = train("mask", small_base(), texts, tmp_path / "out", settings=settings, about=about, device="cpu")
    assert done.info["about"] == about
    assert done.info["counts"]["blocks"] == 32  # no more than the steps need
    assert done.info["settings"]["dropout"] == 0.2
    config = json.loads((done.folder / "config.json").read_text())
    assert (config["hidden_dropout_prob"], config["attention_probs_dropout_prob"]) == (0.1, 0.1)  # the base's
    plain = train("mask", small_base(), texts, tmp_path / "plain", settings=settings | {"dropout": 0.1}, device="cpu")
    assert weights(plain.folder) != weights(done.folder)


def test_a_head_is_kept_or_new_as_wished(tmp_path: Path, social_iqa: Write, small_base: Base) -> None:
    from safetensors.numpy import load_file

    data, base = social_iqa(tmp_path), small_base("choice")
    slow = {"rate": "1e-9", "max_steps": "1"}
    was = load_file(Path(base[3:]) / "model.safetensors")
    kept, new = (
        load_file(
            train("choice", base, data, tmp_path / head, settings=slow | {"head": head}, seed=5, device="cpu").folder
            / "model.safetensors"
        )
        for head in ("keep", "new")
    )
    assert np.allclose(kept["classifier.weight"], was["classifier.weight"], atol=1e-6)
    assert not np.allclose(new["classifier.weight"], was["classifier.weight"], atol=1e-2)
    encoder = [name for name in was if name.startswith("bert.")]
    assert all(np.allclose(new[name], was[name], atol=1e-6) for name in encoder)


def test_the_built_in_model_can_be_trained(tmp_path: Path, social_iqa: Write) -> None:
    data = social_iqa(tmp_path, rows=12)
    done = train(
        "choice",
        "builtin",
        data,
        tmp_path / "out",
        preset="sodapop",
        settings={"max_steps": 2},
        evaluation=data,
        device="cpu",
    )
    assert done.info["base"] == {"name": "builtin", "digest": find_model("builtin").digest, "revision": None}
    assert done.info["new_weights"] == []
    assert (done.info["preset"], done.info["settings"]["batch"]) == ("sodapop", 3)
    assert done.scores is not None
    assert done.scores["accuracy"].value > 0.8  # it knew how to choose before


def test_a_training_that_diverges_stops_and_says_so(tmp_path: Path, social_iqa: Write, small_base: Base) -> None:
    settings = {"rate": "1", "weight_decay": "1e30", "epochs": "3"}
    with raises("training-failed", ModelError) as caught:
        train("choice", small_base(), social_iqa(tmp_path), tmp_path / "out", settings=settings, device="cpu")
    assert "--set rate" in caught.value.remedy


def test_nothing_is_printed_and_progress_counts_every_example(
    tmp_path: Path, social_iqa: Write, small_base: Base, capsys: pytest.CaptureFixture[str]
) -> None:
    class Noted:
        def __init__(self) -> None:
            self.started: list[tuple[str, int, str]] = []
            self.done: list[int] = []

        def start(self, label: str, total: int, unit: str = "questions") -> None:
            self.started.append((label, total, unit))
            self.done.append(0)

        def advance(self, count: int, *, stored: bool = False) -> None:
            self.done[-1] += count

    progress, data = Noted(), social_iqa(tmp_path)
    train(
        "choice",
        small_base(),
        data,
        tmp_path / "out",
        settings={"batch": 6},
        evaluation=data,
        device="cpu",
        progress=progress,
    )
    assert progress.started == [("training", 72, "examples"), ("evaluating", 24, "rows")]
    assert progress.done == [72, 24]
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
