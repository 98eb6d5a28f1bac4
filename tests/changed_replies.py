"""Right replies of an endpoint in every dialect, copies of them with something missing or of a wrong type, and whoever
reads replies: the model, and the tests of what an endpoint can do.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.asking.messages import Dialogue
from assay.asking.queries import (
    Answers,
    ChoiceColumns,
    ChoiceQuery,
    ListedColumns,
    ListedQuery,
    Query,
    SampleColumns,
    SampleQuery,
    Scoring,
    TextColumns,
    TextQuery,
)
from assay.engine.executor import answers_of
from assay.models.api import ApiModel
from assay.models.api.client import BEARER, Client, Posted
from assay.models.api.detect_dialect import EndpointTest
from assay.models.base import Endpoint, ModelSpec
from endpoint_server import ALL, Asked, Server
from fuzzing import places
from own_loop import run_alone

URL = "http://localhost/v1"
OPTIONS = ("the spoon", "the boat", "the candle")
LISTED = ListedQuery("A spoon and a boat lie there.", "Which floats?", OPTIONS)
BRACKETS = ListedQuery("", "Which floats? (a) spoon (b) boat (c) net", ("(a)", "(b)", "(c)"), Dialogue())
QUERIES: Mapping[str, Query] = {
    **dict.fromkeys(("letters", "structured", "decisions", "systemone"), LISTED),
    "brackets": BRACKETS,
    "echo": ChoiceQuery(LISTED.context, LISTED.question, OPTIONS),
    "text": TextQuery("Which floats?", 5),
    "samples": SampleQuery("Which floats?", 5, samples=2),
}
"""A question for every way of asking."""
SERVER = Server(ALL | {"continues"})

Change = Callable[[int, Any], bytes]
"""Makes what is sent of a right reply, which is the one to the request with this number."""


def model() -> ApiModel:
    endpoint = Endpoint("m", ways=("decisions", "systemone", "structured", "letters", "text", "samples"))
    return ApiModel(ModelSpec(f"api:m@{URL}", "api", URL, endpoint=endpoint))


def scoring_of(way: str) -> Scoring:
    return Scoring(answer="letters" if way == "brackets" else way if QUERIES[way] is LISTED else "")


def right_replies(way: str) -> list[dict[str, Any]]:
    """The right reply to every request of a way's question."""
    calls = model().calls(QUERIES[way], scoring_of(way))
    return [SERVER.usual(Asked(f"/v1{call.path}", {}, dict(call.body), 0, 0)) for call in calls]


def read(way: str, change: Change, status: int = 200, headers: Mapping[str, str] | None = None) -> Answers:
    """Read changed replies to a way's question as a run does, to the arrays of its answers."""
    asking, query, scoring = model(), QUERIES[way], scoring_of(way)
    replies = []
    for number, (call, right) in enumerate(zip(asking.calls(query, scoring), right_replies(way), strict=True)):
        said = change(number, right).decode(errors="replace")
        replies.append(asking.received(call, asking._client._judged(status, headers or {}, said)))
    json.dumps([reply.content for reply in replies], ensure_ascii=False).encode()  # the journal
    answer = asking.read(query, scoring, replies)
    return answers_of([answer], _columns(query), "m", of_endpoint=True)


def _columns(query: Query) -> ChoiceColumns | TextColumns:
    match query:
        case ListedQuery():
            return ListedColumns.of([query])
        case ChoiceQuery():
            return ChoiceColumns.of([query])
        case SampleQuery():
            return SampleColumns.of([query])
        case TextQuery():
            return TextColumns.of([query])
    raise AssertionError(query)


class Sending(Client):
    """A client without a network: the server's right replies, changed."""

    def __init__(self, change: Change, status: int) -> None:
        super().__init__(URL)
        self.change, self.status, self.sent = change, status, 0

    async def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] = BEARER) -> Posted:
        right = SERVER.usual(Asked(f"/v1{path}", {}, dict(body), self.sent, 0))
        said = self.change(self.sent, right).decode(errors="replace")
        self.sent += 1
        return self._judged(self.status, {}, said), ""


def search(change: Change, status: int = 200) -> Endpoint:
    """What the tests find out about an endpoint that sends changed replies."""
    return run_alone(EndpointTest(Sending(change, status), Endpoint("m")).search())


def unchanged(number: int, right: Any) -> bytes:
    return json.dumps(right).encode()


# --- changes

WRONG = (
    *("null", "true", "{}", "[]", '""', "0", "-1", "1e308", "-1e308", '"x"', '"\\ud800"', "[null]", '{"a": null}'),
    *("1" + "0" * 299, "1" + "0" * 400, "[" * 90 + "]" * 90, '"' + "9" * 400 + '"', "[[1]]"),
)
"""Values of wrong types, huge numbers, and nesting, as they are written in JSON."""
FEW = ("null", "[]", '{"a": null}', "0")


def wrong_copies(right: Any, values: tuple[str, ...] = WRONG) -> Iterator[tuple[str, bytes]]:
    """Copies of a reply in which one value is missing or wrong, each with words on which it is."""
    for path in places(right):
        if any(isinstance(key, int) and key > 1 for key in path):
            continue  # of a list's items, two are enough
        if path:
            changed, holder = _holder(right, path)
            del holder[path[-1]]
            yield f"without {path}", json.dumps(changed).encode()
        for value in values:
            if not path:
                yield f"{value[:20]} alone", value.encode()
                continue
            changed, holder = _holder(right, path)
            holder[path[-1]] = "@wrong@"
            yield f"{path} is {value[:20]}", json.dumps(changed).replace('"@wrong@"', value).encode()


def _holder(right: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    """A copy, and what in it holds the value at a path."""
    changed = copy.deepcopy(right)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    return changed, holder
