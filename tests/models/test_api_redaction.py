"""What is removed from replies is the key and nothing else, however a server writes it."""

from __future__ import annotations

import base64
import json
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models.api.client import MARK, SHORTEST, Client, Redaction, warn_if_short

KEY = "sk-Proj/a+b=C9_zZ"
FIELDS = ("completion_tokens", "system_fingerprint", "prompt_tokens_details", "insufficient_quota", "reasoning_content")
"""Names of fields, and a code, that are as long as a key."""
BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}")

keys = st.one_of(
    st.sampled_from((KEY, *FIELDS, "a" * SHORTEST, "1234567890123456", "[key]" * 4, r"\"\%41\&#x41;\\\\n")),
    st.text("abkeyz019-_[]%/+=\\&\"'", min_size=SHORTEST, max_size=40),
)


def _percent(key: str) -> str:
    return "".join(f"%{ord(letter):02x}" for letter in key)


def _entities(key: str) -> str:
    return "".join(f"&#{ord(letter)};" for letter in key)


def _in_base64(encode: Callable[[bytes], bytes], before: int, key: str) -> str:
    """The key after so many bytes, and before none or one."""
    return encode(b"u:"[:before] + key.encode() + b"!"[: before % 2]).decode()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "itself": str,
    "in capitals": str.upper,
    "in small letters": str.lower,
    "in the other case": str.swapcase,
    "in hex": lambda key: key.encode().hex(),
    "in hex with capitals": lambda key: key.encode().hex().upper(),
    "in a URL": lambda key: quote(key, safe=""),
    "in a URL, every letter": _percent,
    "in a URL within a URL": lambda key: quote(quote(key, safe=""), safe=""),
    "in JSON": lambda key: json.dumps(key),
    "in JSON, every letter": lambda key: "".join(f"\\u{ord(letter):04X}" for letter in key),
    "in JSON of PHP": lambda key: json.dumps(key).replace("/", "\\/"),
    "in HTML": _entities,
    **{
        f"in {name} after {before} bytes": partial(_in_base64, encode, before)
        for before in range(3)
        for name, encode in (("base64", base64.b64encode), ("base64 for URLs", base64.urlsafe_b64encode))
    },
}


def contains(text: str, key: str) -> bool:
    """Whether a text has the key, by decoding it."""
    spelled = [text, unquote(text), unquote(unquote(text))]
    if any(key.lower() in each.lower() for each in spelled) or key.encode().hex() in text.lower():
        return True
    runs = [run.replace("-", "+").replace("_", "/") for run in BASE64.findall(text)]
    starts = [run[at:] for run in runs for at in range(4)]
    return any(key.encode() in base64.b64decode(run[: len(run) // 4 * 4]) for run in starts)


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_of(inner)


def shape_of(value: Any) -> Any:
    """A value without the content of its texts."""
    if isinstance(value, dict):
        return {name: shape_of(inner) for name, inner in value.items()}
    return [shape_of(inner) for inner in value] if isinstance(value, list) else str if isinstance(value, str) else value


@st.composite
def replies(draw: st.DrawFn, echoes: bool) -> tuple[str, Any]:
    """A key, and a reply with parts of it in texts and all of it in names of fields; `echoes` puts it into texts."""
    key = draw(keys)
    parts = [key[:-1], key[1:], key[: SHORTEST - 1], key[::-1], f"{key[:8]} {key[8:]}", base64.b64encode(b"x").decode()]
    texts = st.one_of(st.text(), st.sampled_from(parts), st.sampled_from(FIELDS))
    if echoes:
        spelling = st.sampled_from(sorted(SPELLINGS)).map(lambda name: SPELLINGS[name](key))
        texts |= st.tuples(st.text(), spelling, st.text(), spelling).map("".join)
    names = st.one_of(st.text(), st.sampled_from((key, *FIELDS)))
    numbers = st.one_of(st.integers(), st.floats(allow_nan=False), st.just(1234567890123456))
    leaves = st.one_of(texts, numbers, st.booleans(), st.none())
    reply = draw(st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=12))
    return key, reply


@pytest.mark.slow
@given(replies(echoes=False))
def test_a_reply_without_the_key_stays_as_it_is(case: tuple[str, Any]) -> None:
    key, reply = case
    if not any(contains(text, key) for text in texts_of(reply)):
        assert Redaction(key).value(reply) == reply


@pytest.mark.slow
@given(replies(echoes=True))
def test_only_texts_with_the_key_change_and_the_key_is_gone(case: tuple[str, Any]) -> None:
    key, reply = case
    redacted = Redaction(key).value(reply)
    assert shape_of(redacted) == shape_of(reply)
    for before, after in zip(texts_of(reply), texts_of(redacted), strict=True):
        assert (MARK in after) if contains(before, key) else before == after or MARK in after
        assert not contains(after, key)
    assert Redaction(key).value(redacted) == redacted


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("key", [KEY, *FIELDS, "0f" * 40])
def test_a_key_is_found_however_it_is_written(name: str, key: str) -> None:
    echoed = SPELLINGS[name](key)
    redacted = Redaction(key).text(f"You sent {echoed}, which is wrong.")
    assert redacted.startswith("You sent ")
    assert redacted.endswith(", which is wrong.")
    assert MARK in redacted
    assert len(redacted) < len("You sent [key], which is wrong.") + 10  # what base64 has before and after it


@pytest.mark.parametrize("key", ["", "a", "token", "x" * (SHORTEST - 1)])
def test_a_short_key_is_never_removed(key: str) -> None:
    reply = {"choices": [{"message": {"content": f"a token {key}"}, "token": key}], key: [key]}
    assert Redaction(key).value(reply) == reply
    assert Redaction(key).text(f"the key {key} is wrong") == f"the key {key} is wrong"


def test_a_short_key_has_one_warning_that_does_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.models.api.client._warned", set())
    monkeypatch.setenv("MY_KEY", "dummy-7")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            Client("http://localhost/v1", "MY_KEY")
        warn_if_short("x" * SHORTEST, "ANOTHER")
        warn_if_short("", "")
    (warning,) = caught
    assert "MY_KEY" in str(warning.message)
    assert "dummy-7" not in str(warning.message)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 429, 500])
@pytest.mark.parametrize("name", SPELLINGS)
def test_messages_and_addresses_are_without_the_key(name: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.errors import AssayError
    from assay.models.base import RetryableError

    monkeypatch.setenv("MY_KEY", KEY)
    client, echoed = Client("http://localhost/v1", "MY_KEY"), SPELLINGS[name](KEY)
    for said in (json.dumps({"error": {"message": f"not {echoed}"}}), f"<p>not {echoed}", json.dumps(["x", echoed])):
        with pytest.raises((RetryableError, AssayError)) as error:
            client._judged(status, {"location": f"http://x/?key={echoed}"}, said)
        assert not contains(str(error.value), KEY)
        assert MARK in str(error.value)
