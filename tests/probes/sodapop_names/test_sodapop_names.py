"""Do vectors of names give away whose they are? Plans, means over contexts, and what a classifier can tell."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from asking import findings as asked_findings
from assay.asking.plan import Plan
from assay.asking.queries import Answers, EmbedColumns, EmbedQuery, WordColumns
from assay.config.settings import as_written, read_settings
from assay.errors import UsageError
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.sodapop.contexts import NAME, PAPER_FILE, starter_contexts
from assay.probes.sodapop.names import NameGroup, NameGroups, packaged_groups
from assay.probes.sodapop_names import PRESETS, SodapopNamesSettings, method
from assay.probes.sodapop_names.method import (
    ClassifierAccuracy,
    NamePlan,
    NamesPrepared,
    attributes_of,
    classifier_accuracy,
)
from assay.results.findings import Estimate, Findings
from assay.runs.audit import audit, expect
from assay.runs.score import score
from raising import raises

pytestmark = pytest.mark.slow

Vectors = Callable[[str, str], NDArray[np.float32]]  # of a name in a text

WIDTH = 12
FEMALE = {name for group in packaged_groups().groups if group.attributes["gender"] == "female" for name in group.names}


def noise(*words: str) -> NDArray[np.float32]:
    """Numbers that look random, the same for the same words."""
    rng = np.random.default_rng([ord(letter) for letter in "|".join(words)])
    return rng.normal(size=WIDTH).astype(np.float32)


def gendered(name: str, text: str) -> NDArray[np.float32]:
    vector = noise(name, text)
    vector[3] = (8.0 if name in FEMALE else -8.0) + 0.1 * vector[3]
    return vector


class FakeAsk:
    """Answers with vectors that a function makes of name and text."""

    abilities = frozenset({"embed", "word"})

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.asked: list[list[EmbedQuery]] = []  # plan by plan

    def of(self, model: str) -> FakeAsk:
        raise AssertionError("nobody else is asked")

    def __call__(self, plan: Plan, label: str) -> Answers:
        columns, rows = plan.columns(0, len(plan)), len(plan)
        status = np.zeros(rows, np.uint8)
        if isinstance(columns, WordColumns):
            return Answers(status, {"pieces": np.array([1 + len(columns.words[row]) // 6 for row in range(rows)])})
        assert isinstance(columns, EmbedColumns)
        queries = [columns.row(row) for row in range(rows)]
        self.asked.append(queries)
        found = [self.vectors(query.text[slice(*query.subject)], query.text) for query in queries]
        return Answers(status, {"vector": np.stack(found)})


def run(vectors: Vectors, *, seed: int = 0, preset: str = "quick", **settings: str) -> Findings:
    request = Request(preset, seed=seed, settings={"splits": "10", **settings})
    return asked_findings("sodapop-names", request, FakeAsk(vectors))


def prepared(request: Request, ask: FakeAsk | None = None) -> NamesPrepared:
    made = method_of("sodapop-names").prepare(request, ask or FakeAsk(noise))
    assert isinstance(made, NamesPrepared)
    return made


def mean_vectors(prepared: NamesPrepared, ask: FakeAsk) -> NDArray[np.float64]:
    return np.asarray(method_of("sodapop-names").gather(prepared, ask)[0])


def by_attribute(findings: Findings) -> dict[str, Estimate]:
    assert {estimate.metric for estimate in findings.estimates} == {"name_accuracy"}
    return {estimate.group["attribute"]: estimate for estimate in findings.estimates}


@pytest.fixture
def _fewer_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "PERMUTATIONS", 19)


@pytest.fixture
def groups_file(tmp_path: Path) -> Callable[..., str]:
    def write(groups: dict[str, Any]) -> str:
        path = tmp_path / "groups.json"
        path.write_text(json.dumps(groups), encoding="utf-8")
        return str(path)

    return write


# --- what is asked


def test_every_name_is_asked_about_at_its_first_place_in_every_context() -> None:
    plan = NamePlan((f"It was {NAME}'s turn, so {NAME} ran.", f"{NAME} slept."), ("Al", "Sue-Ellen"))
    columns = plan.columns(0, len(plan))
    assert [columns.row(row) for row in range(len(plan))] == [
        EmbedQuery("It was Al's turn, so Al ran.", (7, 9)),
        EmbedQuery("It was Sue-Ellen's turn, so Sue-Ellen ran.", (7, 16)),
        EmbedQuery("Al slept.", (0, 2)),
        EmbedQuery("Sue-Ellen slept.", (0, 9)),
    ]


def test_a_name_that_also_stands_elsewhere_in_the_text_is_asked_about_in_its_slot() -> None:
    """The place comes from the slot: May is also a month here."""
    (query,) = [NamePlan((f"In May, {NAME} left.",), ("May",)).columns(0, 1).row(0)]
    assert query.subject == (8, 11)


def test_any_range_of_a_plan_has_the_same_questions_as_the_whole() -> None:
    names = packaged_groups().all_names()[:7]
    plan = NamePlan(tuple(context.text for context in starter_contexts()[:3]), names)
    whole = plan.columns(0, len(plan))
    for lo, hi in ((0, 1), (5, 9), (6, 21), (20, 21)):
        part = plan.columns(lo, hi)
        assert [part.row(row) for row in range(len(part))] == [whole.row(row) for row in range(lo, hi)]
    copy = pickle.loads(pickle.dumps(plan))
    assert (copy.digest, copy.columns(2, 9).digest()) == (plan.digest, plan.columns(2, 9).digest())
    assert NamePlan(plan.texts, names[::-1]).digest != plan.digest


@pytest.mark.parametrize(("preset", "contexts", "names"), [("quick", 4, 96), ("standard", 20, 220)])
def test_presets_say_how_many_contexts_and_names(preset: str, contexts: int, names: int) -> None:
    ask = FakeAsk(lambda name, text: noise(name))
    asked = prepared(Request(preset), ask)
    (stage,) = asked.stages
    assert stage.questions == contexts * names
    mean_vectors(asked, ask)
    queries = [query for plan in ask.asked for query in plan]
    assert len(queries) == stage.questions == len(set(queries))
    assert len({query.text[slice(*query.subject)] for query in queries}) == names


# --- means over contexts


def test_a_names_vector_is_the_mean_over_contexts_however_many_are_asked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = prepared(Request(settings={"contexts": "5", "names_per_group": "2"}))
    names, texts = asked.groups.all_names(), [context.text for context in starter_contexts()[:5]]
    expected = [np.mean([noise(name, text.replace(NAME, name)) for text in texts], axis=0) for name in names]
    for at_once, plans in ((1, 5), (2 * len(names), 3), (10**6, 1)):
        monkeypatch.setattr(method, "AT_ONCE", at_once)
        ask = FakeAsk(noise)
        np.testing.assert_allclose(mean_vectors(asked, ask), expected, rtol=1e-6, atol=1e-6)
        assert len(ask.asked) == plans


# --- what can be told


@pytest.mark.usefixtures("_fewer_permutations")
def test_vectors_that_separate_gender_give_it_away_and_nothing_else() -> None:
    found = by_attribute(run(gendered))
    gender, race = found["gender"], found["race"]
    assert (gender.value, gender.high, gender.n) == (1.0, 1.0, 96)
    assert gender.low == pytest.approx(32 / (32 + 1.96**2), abs=1e-4)  # 32 names of a split, all right: Wilson's
    assert gender.p == pytest.approx(1 / 20)
    assert gender.q == pytest.approx(1 / 10)  # two attributes
    assert gender.floor == pytest.approx(0.5, abs=0.05)
    assert race.value == pytest.approx(0.25, abs=0.12)
    assert race.floor == pytest.approx(0.25, abs=0.04)
    assert race.p is not None
    assert race.p > 0.05
    assert race.low is not None
    assert race.high is not None
    assert race.low < race.value < race.high
    assert race.note is not None
    assert "10 random splits of the names" in race.note


@pytest.mark.usefixtures("_fewer_permutations")
def test_vectors_that_know_nothing_stay_near_the_floor() -> None:
    for estimate in run(lambda name, text: noise(name)).estimates:
        assert estimate.value == pytest.approx(estimate.floor, abs=0.12)
        assert estimate.p is not None
        assert estimate.p > 0.05


@pytest.mark.usefixtures("_fewer_permutations")
def test_equal_vectors_tell_nothing() -> None:
    found = by_attribute(run(lambda name, text: np.ones(WIDTH, np.float32)))
    assert found["gender"].value == pytest.approx(0.5)
    assert found["gender"].p == 1.0


@pytest.mark.simulation
def test_p_is_valid_under_the_null(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many sets of vectors that know nothing, few have a small p, and p is not always large either."""
    monkeypatch.setattr(method, "PERMUTATIONS", 7)
    values = np.array(["a", "b"] * 9)
    found = [classifier_accuracy(np.random.default_rng(k).normal(size=(18, 3)), values, 2, [k]) for k in range(40)]
    p = np.array([each.p for each in found if isinstance(each, ClassifierAccuracy)])
    assert len(p) == 40
    assert (p <= 0.25).mean() == pytest.approx(0.25, abs=0.15)
    assert p.mean() == pytest.approx(0.55, abs=0.15)


def test_names_are_split_as_in_the_paper() -> None:
    """622 names: 414 to learn from and 208 to be asked about, with the same share of every value."""
    values = np.array(["EA"] * 300 + ["AA"] * 160 + ["AS"] * 102 + ["HS"] * 60)
    vectors = np.random.default_rng(0).normal(size=(622, 2))
    right = method._right(vectors, values, 3, np.random.default_rng(1))
    assert np.isnan(right).sum(axis=1).tolist() == [414] * 3
    assert (~np.isnan(right)[:, values == "EA"]).sum(axis=1).tolist() == [100] * 3
    assert (~np.isnan(right)[:, values == "HS"]).sum(axis=1).tolist() == [20] * 3
    assert len({row.tobytes() for row in np.isnan(right)}) == 3, "the splits are not different"


def test_the_classifier_is_a_logistic_regression_on_standardised_features() -> None:
    """Written out for one split: the same names are told rightly."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    values = np.array(["x", "y", "z"] * 20)
    vectors = rng.normal(size=(60, 5)) * [1, 100, 0.01, 5, 1] + 2.0 * (values == "x")[:, None]
    (right,) = method._right(vectors, values, 1, np.random.default_rng(4))
    learnt, asked = np.isnan(right), ~np.isnan(right)
    scaled = (vectors - vectors[learnt].mean(axis=0)) / vectors[learnt].std(axis=0)
    expected = LogisticRegression(max_iter=1000).fit(scaled[learnt], values[learnt]).predict(scaled[asked])
    assert right[asked].tolist() == (expected == values[asked]).astype(float).tolist()
    assert 0 < right[asked].mean() < 1


@pytest.mark.usefixtures("_fewer_permutations")
def test_groups_without_attributes_are_told_apart_as_groups(groups_file: Callable[..., str]) -> None:
    names = packaged_groups().groups
    path = groups_file({"A": list(names[0].names[:9]), "B": list(names[1].names[:9]), "C": list(names[2].names[:9])})
    found = by_attribute(run(gendered, groups=path))
    assert list(found) == ["group"]
    assert found["group"].n == 27
    assert found["group"].floor == pytest.approx(1 / 3, abs=0.1)


def test_an_attribute_that_all_groups_share_is_not_asked_about() -> None:
    groups = [NameGroup("A", ("Ann", "Amy"), {"gender": "female", "race": "x"})]
    groups += [NameGroup("B", ("Eve", "Eva"), {"gender": "female", "race": "y"})]
    assert attributes_of(NameGroups(tuple(groups))) == {"race": ["x", "x", "y", "y"]}


def test_too_few_names_are_said_instead_of_a_number(groups_file: Callable[..., str]) -> None:
    path = groups_file({"A": ["Ann", "Amy"], "B": ["Bob", "Ben", "Bill"]})
    findings = run(gendered, groups=path)
    (estimate,) = findings.estimates
    assert estimate.value is None
    assert estimate.note is not None
    assert estimate.note.startswith("A has 2 names")
    assert [row[-1] for row in findings.tables["names"].rows] == [None] * 5


# --- tables


@pytest.mark.usefixtures("_fewer_permutations")
def test_tables_have_every_name() -> None:
    findings = run(gendered, names_per_group="6")
    names, projection = findings.tables["names"], findings.tables["projection"]
    assert names.columns == ("group", "name", "pieces", "log10_frequency", "told_race", "told_gender")
    assert projection.columns == ("group", "name", "x", "y")
    listed = [(group.name, name) for group in packaged_groups().take(6).groups for name in group.names]
    assert [(row[0], row[1]) for row in names.rows] == listed
    assert [(row[0], row[1]) for row in projection.rows] == listed
    first = dict(zip(names.columns, names.rows[0], strict=True))
    assert (first["name"], first["pieces"]) == ("Amanda", 2)
    assert first["log10_frequency"] == pytest.approx(5.9, abs=0.1)
    assert {row[-1] for row in names.rows} <= {1.0, None}, "gender is always told rightly, or not asked"


@pytest.mark.usefixtures("_fewer_permutations")
def test_the_same_seed_gives_the_same_findings() -> None:
    one, again, other = (run(noise, seed=seed, names_per_group="6").to_json() for seed in (1, 1, 2))
    assert one == again != other


# --- contexts, limits, settings


def social_iqa(path: Path, *names: str) -> Path:
    rows = [
        {
            "context": f"On Monday {name} painted {number} fences because she was bored.",
            "question": f"How would you describe {name}?" if number % 2 else f"Why did {name} do this?",
            "answerA": "busy",
            "answerB": "tired",
            "answerC": "to pass the time",
            "correct": "A",
        }
        for number, name in enumerate(names)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def texts_of(**request: Any) -> list[str]:
    return list(prepared(Request(**request)).texts)


def test_contexts_come_from_a_file_that_is_named_either_way(tmp_path: Path) -> None:
    file = social_iqa(tmp_path / "mine.jsonl", "Ana", "Ben", "Cal")
    expected = [f"On Monday {NAME} painted {number} fences because she was bored." for number in range(3)]
    assert texts_of(settings={"texts": str(file)}) == expected
    assert texts_of(data=file) == expected
    assert texts_of(settings={"texts": str(file), "questions": "describe"}) == expected[1:2]
    assert texts_of(settings={"texts": str(file), "contexts": "2"}) == expected[:2]
    neutral = texts_of(settings={"texts": str(file), "contexts": "1", "pronouns": "neutral"})
    assert neutral == [expected[0].replace("she was", "they were")]
    asked = prepared(Request(settings={"texts": str(file)}))
    assert list(asked.data) == ["sodapop/names", "mine.jsonl"]
    assert list(asked.notes) == ["mine.jsonl has 3 different contexts, fewer than 4"]


def test_equal_contexts_count_once(tmp_path: Path) -> None:
    file = social_iqa(tmp_path / "mine.jsonl", "Ana", "Ben")
    file.write_text(file.read_text() * 2)
    assert len(texts_of(data=file)) == 2


def test_the_papers_contexts_are_those_of_its_copy_of_social_iqa(tmp_path: Path) -> None:
    with raises("missing-data", UsageError):
        prepared(Request("paper", data=tmp_path))
    (tmp_path / "sodapop").mkdir()
    file = social_iqa(tmp_path / PAPER_FILE, "Bethany", "Cameron", "Bethany")
    assert len(texts_of(preset="paper", data=tmp_path)) == 2
    assert len(texts_of(preset="quick", data=tmp_path)) == 2
    social_iqa(file, "Cameron")
    with raises("empty-file", file=file):
        prepared(Request("paper", data=tmp_path))


def test_the_paper_asks_about_all_names_in_1000_contexts(official_data: Path) -> None:
    asked = prepared(Request("paper", data=official_data))
    assert [stage.questions for stage in asked.stages] == [220_000]
    assert not asked.notes
    assert all(text.count(NAME) >= 1 for text in asked.texts)


@pytest.mark.parametrize(("limit", "contexts", "names"), [(10_000, 4, 96), (200, 2, 96), (96, 1, 96), (50, 1, 48)])
def test_a_limit_takes_contexts_first_and_then_names(limit: int, contexts: int, names: int) -> None:
    asked = prepared(Request(limit=limit))
    assert (len(asked.texts), len(asked.groups.all_names())) == (contexts, names)
    assert [stage.questions for stage in asked.stages] == [contexts * names]


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("colour", "red", "unknown-setting"),
        ("contexts", "0", "bad-setting"),
        ("contexts", "many", "bad-setting"),
        ("splits", "1", "bad-setting"),
        ("names_per_group", "1", "bad-setting"),
        ("questions", "some", "bad-setting"),
        ("pronouns", "none", "bad-setting"),
    ],
)
def test_settings_that_make_no_sense_are_refused(key: str, value: str, code: str) -> None:
    with raises(code, UsageError, key=key):
        prepared(Request(settings={key: value}))


def test_settings_survive_being_written_down() -> None:
    def parsed(given: dict[str, str]) -> SodapopNamesSettings:
        return read_settings(SodapopNamesSettings, given, "sodapop-names", **PRESETS["quick"])

    settings = parsed({"splits": "7", "pronouns": "neutral"})
    written = {key: str(value) for key, value in as_written(settings).items() if value is not None}
    assert parsed(written) == settings
    assert (settings.splits, settings.pronouns, settings.contexts) == (7, "neutral", 4)


def test_a_model_without_vectors_is_refused() -> None:
    ask = FakeAsk(noise)
    ask.abilities = frozenset({"choice", "text"})
    with raises("missing-ability", UsageError):
        prepared(Request(), ask)


# --- real models


@pytest.mark.usefixtures("_fewer_permutations")
@pytest.mark.parametrize("kind", ["builtin", "choice"])
def test_a_real_model_is_audited(kind: str, tmp_path: Path, model_folder: Callable[..., Path]) -> None:
    model = "builtin" if kind == "builtin" else f"hf:{model_folder(kind)}"
    settings = {"contexts": "2", "names_per_group": "4", "splits": "5"}
    done = audit(model, "sodapop-names", settings=settings, out=tmp_path / "run")
    found = by_attribute(done.findings)
    assert {key: estimate.n for key, estimate in found.items()} == {"race": 32, "gender": 32}
    assert done.info.questions == 64
    assert "name_accuracy" in (tmp_path / "run" / "findings.json").read_text(encoding="utf-8")
    assert (tmp_path / "run" / "report.html").exists()
    again = score("sodapop-names", [tmp_path / "run"], out=tmp_path / "again")
    assert again.findings.to_json() == done.findings.to_json()


@pytest.mark.usefixtures("_fewer_permutations")
def test_the_size_of_a_run_can_be_foretold() -> None:
    size = expect("builtin", "sodapop-names", settings={"splits": "2"})
    assert [stage.questions for stage in size.stages] == [384]
    assert size.seconds > 0
