"""The tour on an endpoint shares out its requests before anything is sent; one probe's failure is not the others'."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from assay.errors import ModelError, UsageError
from assay.models.base import ModelSpec
from assay.probes import tour_probes
from assay.probes.base import Probe, Request
from assay.runs import tour as module
from assay.runs.audit import AuditListener
from assay.runs.dry_run import RequestEstimate
from assay.runs.tour import REQUESTS, MissingProbes, expect_tour
from raising import raises


@dataclass
class Heard(AuditListener):
    """Remembers what it is told."""

    told: list[tuple[str, str]] = field(default_factory=list)

    def skips(self, probe: str, why: str) -> None:
        self.told.append(("skips", probe))

    def fails(self, probe: str, error: Exception) -> None:
        self.told.append(("fails", probe))


def probe(name: str, share: float = 1.0) -> Probe:
    return replace(tour_probes()[0], name=name, tour_share=share)


def shared_out(
    monkeypatch: pytest.MonkeyPatch, able: list[Probe], needs: dict[str, int | Exception], **request: Any
) -> tuple[dict[str, RequestEstimate], dict[str, int | None], Heard]:
    """What each probe sends that needs so many requests, or fails; and how many it was allowed."""
    allowed: dict[str, int | None] = {}

    def count(model: str, name: str, *rest: Any, at_most: int | None, **more: Any) -> RequestEstimate:
        allowed[name], need = at_most, needs[name]
        if isinstance(need, Exception):
            raise need
        return RequestEstimate(ModelSpec("m"), requests=need if at_most is None else min(need, at_most))

    monkeypatch.setattr(module, "expect_calls", count)
    heard = Heard()
    return expect_tour("m", able, Request(**request), None, MissingProbes(heard)), allowed, heard


@pytest.mark.parametrize(
    ("needs", "sent"),
    [
        ((9000, 9000, 9000), [1000, 1000, 1000]),
        ((100, 9000, 9000), [100, 1450, 1450]),  # what one leaves, the others get
        ((9000, 9000, 100), [1000, 1000, 100]),
        ((10, 20, 30), [10, 20, 30]),
    ],
)
def test_no_more_than_so_many_requests_are_shared_out(
    monkeypatch: pytest.MonkeyPatch, needs: tuple[int, ...], sent: list[int]
) -> None:
    names = dict(zip("abc", needs, strict=True))
    calls, _, _ = shared_out(monkeypatch, [*map(probe, names)], {**names})
    assert [each.requests for each in calls.values()] == sent
    assert sum(sent) <= REQUESTS


def test_a_probe_may_have_a_larger_share(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, _, _ = shared_out(monkeypatch, [probe("a", 4.0), probe("b"), probe("c")], dict.fromkeys("abc", 9000))
    assert [each.requests for each in calls.values()] == [2000, 500, 500]


@pytest.mark.parametrize("request_", [{"limit": 5000}, {"preset": "standard"}])
def test_who_names_a_size_gets_it(monkeypatch: pytest.MonkeyPatch, request_: dict[str, Any]) -> None:
    _, allowed, _ = shared_out(monkeypatch, [probe("a"), probe("b")], dict.fromkeys("ab", 9000), **request_)
    assert allowed == {"a": None, "b": None}


def test_a_probe_that_fails_leaves_its_share_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"a": ModelError("broken"), "b": UsageError("cannot", code="missing-ability"), "c": 9000}
    calls, _, heard = shared_out(monkeypatch, [*map(probe, "abc")], needs)
    assert {name: each.requests for name, each in calls.items()} == {"c": 3000}
    assert heard.told == [("fails", "a"), ("skips", "b")]


def test_where_all_fail_the_first_failure_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"a": ModelError("broken", code="no-answer"), "b": UsageError("wrong", code="bad-option")}
    with raises("no-answer", ModelError):
        shared_out(monkeypatch, [probe("a"), probe("b")], needs)
