"""Budgets and full disks of whole commands: what is billed in all, and what the next command does."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.engine.journal import BESIDE, _Writer
from assay.engine.spending import Price, Spending
from assay.errors import UsageError
from endpoint_server import Server, serving
from raising import raises

PRICE = Price(100.0, 100.0)


def billed(server: Server) -> float:
    """What the server counts for the answered questions."""
    usages = [server.usual(asked)["usage"] for asked in server.questions]
    return sum(PRICE.usd(usage["prompt_tokens"], usage["completion_tokens"]) for usage in usages)


@pytest.mark.whole
def test_a_tour_has_one_budget_for_all_its_probes_and_all_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    with serving() as server:
        few = {"limit": 24, "out": tmp_path / "tour", "progress": False}
        whole = assay.tour(server.model, **few, spending=Spending(PRICE, 100.0))  # type: ignore[arg-type]
        cost = billed(server)
        monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "other"))
        server.asked.clear()
        few["out"] = tmp_path / "limited"
        for _ in range(2):
            spending = Spending(PRICE, 0.6 * cost)
            with pytest.warns(UserWarning, match="would exceed the budget"):
                assay.tour(server.model, **few, spending=spending)  # type: ignore[arg-type]
            assert 0.4 * cost < billed(server) <= 1.05 * 0.6 * cost
            assert spending.usd_in_all == pytest.approx(billed(server), rel=0.01)
        assert spending.sent == 0, "the second command had nothing left to spend"
        raised = Spending(PRICE, 1.2 * cost)
        again = assay.tour(server.model, **few, spending=raised)  # type: ignore[arg-type]
        assert [run.probe for run in again.runs] == [run.probe for run in whole.runs]
        assert billed(server) == pytest.approx(cost)


@pytest.mark.whole
def test_what_a_full_cache_could_not_store_is_used_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    append, writes = _Writer.append, 0

    def full(self: _Writer, line: bytes) -> int:
        nonlocal writes
        writes += self.path.is_relative_to(tmp_path / "cache")
        if writes > 20 and self.path.name != BESIDE:
            raise UsageError("no space left to write this file.", "Free some.", code="no-space", file=self.path)
        return append(self, line)

    with serving(latency=0.05) as server:
        few = {"limit": 96, "settings": {"resamples": "20"}, "out": tmp_path / "run", "progress": False}
        with monkeypatch.context() as patch:
            patch.setattr(_Writer, "append", full)
            with raises("no-space", UsageError) as error:
                assay.audit(server.model, "bbq-starter", **few)  # type: ignore[arg-type]
        assert str(tmp_path / "run" / BESIDE) in str(error.value)
        assert len(server.questions) < 96
        run = assay.audit(server.model, "bbq-starter", **few)  # type: ignore[arg-type]
        assert len(server.questions) == 96, "none is sent twice"
    assert not (tmp_path / "run" / BESIDE).exists()
    assert run.info.spent["requests"] == 96
