"""A dry run counts the requests to an endpoint where its questions follow from what a second model answers here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from assay.asking.plan import Ask, digest_of
from assay.asking.queries import MASK, FillColumns, StringColumn, TextColumns, TextQuery
from assay.probes.base import Method, Prepared, Request, Stage
from assay.runs import dry_run as module
from assay.runs.dry_run import expect_calls
from endpoint_server import serving


@dataclass(frozen=True)
class Fills:
    """One sentence with a masked word."""

    ability: str = "fill"
    digest: str = digest_of("fills of this test")

    def __len__(self) -> int:
        return 1

    def columns(self, lo: int, hi: int) -> FillColumns:
        return FillColumns(StringColumn.of([""]), StringColumn.of([f"The sky is {MASK}."]), top=3)


@dataclass(frozen=True)
class Prompts:
    """What a model is to write about each of these."""

    about: tuple[int, ...]
    ability: str = "text"

    @property
    def digest(self) -> str:
        return digest_of(["prompts of this test", *self.about])

    def __len__(self) -> int:
        return len(self.about)

    def columns(self, lo: int, hi: int) -> TextColumns:
        return TextColumns.of([TextQuery(f"Write about {each}.", 4) for each in self.about[lo:hi]])


class Follows(Method[Prepared, Any]):
    """Asks an endpoint about whatever the other model fills in."""

    def __init__(self, second: str) -> None:
        self.second = second

    def prepare(self, request: Request, ask: Ask) -> Prepared:
        return Prepared({}, {}, [Stage("fills", 1), Stage("texts", 3)], [], 0)

    def gather(self, prepared: Prepared, ask: Ask) -> Any:
        found = ask.of(self.second)(Fills(), "fills")["token"][0] if self.second == "builtin" else [1, 2, 3]
        other = ask if self.second == "builtin" else ask.of(self.second)
        return other(Prompts(tuple(map(int, found))), "texts")


def test_a_second_model_on_this_machine_is_really_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its answers are stored for the run; nothing is sent to the endpoint."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "method_of", lambda probe: Follows("builtin"))
    with serving() as server:
        calls = expect_calls(server.model, "follows", Request())
        assert (calls.requests, calls.unsent) == (3, 3)
        assert server.asked == []
    (block,) = (tmp_path / "cache" / "blocks").rglob("*.block")
    before = block.stat().st_mtime_ns
    with serving() as server:
        assert expect_calls(server.model, "follows", Request()).requests == 3
    assert block.stat().st_mtime_ns == before


class Coarse(Follows):
    """Rounds its limit up to fifties; two questions in three are asked."""

    limits: ClassVar[list[int | None]] = []

    def prepare(self, request: Request, ask: Ask) -> Prepared:
        self.limits.append(request.limit)
        return Prepared({}, {}, [Stage("texts", 50 * -(-(request.limit or 400) // 50))], [], 0)

    def gather(self, prepared: Prepared, ask: Ask) -> Any:
        return ask(Prompts(tuple(range(prepared.stages[0].questions * 2 // 3))), "texts")


@pytest.mark.parametrize(("at_most", "requests"), [(None, 266), (300, 266), (260, 233), (120, 100), (10, 33)])
def test_a_run_with_too_many_requests_gets_a_limit(
    at_most: int | None, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a few attempts; the smallest run that there is may still have too many."""
    monkeypatch.setattr(module, "method_of", lambda probe: Coarse(""))
    Coarse.limits.clear()
    with serving() as server:
        calls = expect_calls(server.model, "coarse", Request(), at_most=at_most)
    assert calls.requests == requests
    assert calls.limit == Coarse.limits[-1]
    assert len(Coarse.limits) <= 5


def test_a_second_endpoint_is_counted_with_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    with serving() as server, serving() as second:
        monkeypatch.setattr(module, "method_of", lambda probe: Follows(second.model))
        assert expect_calls(server.model, "follows", Request()).requests == 3
        assert server.asked == second.asked == []
