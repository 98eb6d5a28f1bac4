"""One request over HTTP: the reply, and which errors are final or can be retried.

httpx2 is also the client of huggingface_hub: asynchronous, typed, with limits on every phase of a request, and
maintained by httpx's author. Requests use its lower layer, httpcore2, which takes less than half the time of a client
or a connection pool; with many requests per second this time is scarce. A vendor's SDK would add its own retries and
fields.

The key is in one header, and is removed once, here, from the texts that a server sends back (`Redaction`): the journal
and the parser get the same, and it is not shown either. Redirects are not followed, so the key never reaches another
host.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import re
import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from assay.errors import ModelError, how_to_install, require_package
from assay.files.decoding import json_value
from assay.models.api.address import is_local, key_of
from assay.models.base import RetryableError
from assay.version import __version__

if TYPE_CHECKING:
    from httpcore2 import AsyncConnectionPool, AsyncHTTPConnection

    Connection = AsyncConnectionPool | AsyncHTTPConnection

LARGEST = 4_000_000
"""The most bytes that are read of a reply."""
SECONDS = 300.0
"""Seconds for a request and its whole reply, so that a slow server cannot block the run."""
KEPT_OPEN = 60.0
"""Seconds for which an idle connection is kept."""
LONGEST_PAUSE = 366 * 86_400.0
"""The most seconds that a server can ask for; more mean the same."""
LONGEST_WORDS = 300
"""The most characters shown of a server's message."""

LONGEST_NAME = 200
"""The most characters kept of a name that a server gives itself, its model or the model's version."""

KEY = "{key}"
"""What stands for the key in a dialect's headers."""
BEARER = {"Authorization": f"Bearer {KEY}"}

_IN_PATHS = "/%:@!$&'()*+,;=~"
_FINAL = frozenset({400, 401, 402, 403, 404, 405, 410, 411, 413, 414, 415, 422, 501})
_PRESSED = frozenset({429, 503, 529})
_REMEDIES = {
    401: "Put the right key into the environment variable that --key-env names (default: OPENAI_API_KEY).",
    403: "This key has no access to this model: choose another model, or another key with --key-env NAME.",
    404: "Check the model's name and the address: it usually ends in /v1. See `assay doctor --model api:NAME@URL`.",
}

Posted = tuple[dict[str, Any], str]
"""What came back: the JSON object, and the software of the server as its header names it."""


class Client:
    """Posts JSON to one endpoint. It belongs to one event loop."""

    def __init__(self, url: str, key_env: str = "", *, seconds: float | None = None) -> None:
        self.url = url
        self._key = key_of(key_env)
        warn_if_short(self._key, key_env)
        self._redaction = Redaction(self._key)
        self._seconds = SECONDS if seconds is None else seconds
        self._ascii_url = in_ascii(url)
        self._idle: list[Connection] = []
        self._proxy = _proxy_for(url)
        self._trust: Any = None  # which certificates are trusted, read once
        self._headers = {
            "User-Agent": f"assay/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }

    async def _connection(self) -> Connection:
        """An idle connection that the server has not closed, or a new one."""
        with require_package("api: models need", how_to_install("api")):
            import httpcore2
        while self._idle:
            idle = self._idle.pop()
            if isinstance(idle, httpcore2.AsyncConnectionPool) or (idle.is_available() and not idle.has_expired()):
                return idle
            await idle.aclose()
        if self._trust is None and self.url.startswith("https:"):
            import httpx2

            self._trust = httpx2.create_ssl_context()
        if self._proxy:
            parts = urlsplit(self._proxy)
            user = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
            through = httpcore2.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth=user)
            return httpcore2.AsyncConnectionPool(self._trust, through, max_connections=1, keepalive_expiry=KEPT_OPEN)
        return httpcore2.AsyncHTTPConnection(
            httpcore2.URL(self._ascii_url).origin, self._trust, keepalive_expiry=KEPT_OPEN
        )

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

    async def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] = BEARER) -> Posted:
        """The JSON object of a reply with status 200, or of a 400 from a content filter, and the server's name.

        `headers` are those of the dialect; without a key, those that would have it are left out.
        Raises RetryableError if the request may succeed later, and ModelError, with the server's message, if not.
        """
        http = await self._connection()
        import httpcore2

        request = json.dumps(dict(body), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        content, done = bytearray(), False
        limits = {"timeout": {"connect": min(20.0, self._seconds)}}
        try:
            async with (
                asyncio.timeout(self._seconds),
                http.stream(
                    "POST",
                    f"{self._ascii_url}{path}",
                    headers=self._with_key({**self._headers, **headers}),
                    content=request,
                    extensions=limits,
                ) as response,
            ):
                async for part in response.aiter_stream():
                    content += part
                    if len(content) > LARGEST:
                        raise RetryableError(f"a reply larger than {LARGEST:,} bytes")
                done = True
        except TimeoutError:
            raise RetryableError(f"no complete reply within {self._seconds:g} s", silent=True) from None
        except httpcore2.TimeoutException as error:
            raise RetryableError(f"no reply in time ({type(error).__name__})", silent=True) from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError) as error:
            raise RetryableError(self._redaction.text(f"{error}" or type(error).__name__)) from None
        finally:
            if done:
                self._idle.append(http)
            else:
                await http.aclose()
        received = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        reply = self._judged(response.status, received, bytes(content).decode(errors="replace"))
        return reply, self._redaction.text(received.get("server", ""))[:LONGEST_NAME]

    def _with_key(self, headers: Mapping[str, str]) -> dict[bytes | str, bytes | str]:
        return {name: text.replace(KEY, self._key) for name, text in headers.items() if self._key or KEY not in text}

    def _judged(self, status: int, headers: Mapping[str, str], text: str) -> dict[str, Any]:
        """The reply as an object without the key, or the error that it is."""
        content: dict[str, Any] | None = self._redaction.value(_object(text))
        is_answer = status == 200 and content is not None and not _has_error(content)
        if content is not None and (is_answer or (status == 400 and is_filtered(content))):
            return content
        words = words_of(content, self._redaction.text(text))
        if status == 200:
            kind = "something that is not a JSON object" if content is None else "an error"
            raise RetryableError(f"200 with {kind}: {words!r}")
        if 300 <= status < 400:
            target = self._redaction.text(headers.get("location", "somewhere else"))
            problem = f"{self.url} redirects to {target}; the key is not sent there."
            raise ModelError(problem, "If you trust that address, name it in --model.", code="refused-request")
        after = retry_after(headers)
        if status in _FINAL or "insufficient_quota" in text:
            remedy = _REMEDIES.get(status, "See `assay doctor --model api:NAME@URL` for what this endpoint can do.")
            raise ModelError(f"{self.url} answers {status}: {words}", remedy, code="refused-request", key=str(status))
        raise RetryableError(f"{status}: {words}", after=after, overloaded=status in _PRESSED)


def _has_error(content: Mapping[str, Any]) -> bool:
    return isinstance(content.get("error"), Mapping | str) and bool(content["error"])


def in_ascii(url: str) -> str:
    """An address with non-ASCII letters encoded.

    >>> in_ascii("https://exämple.com:8000/v1/ü"), in_ascii("http://[::1]:8000/v1")
    ('https://xn--exmple-cua.com:8000/v1/%C3%BC', 'http://[::1]:8000/v1')
    """
    parts = urlsplit(url)
    host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    return f"{parts.scheme}://{host}{quote(parts.path, safe=_IN_PATHS)}"


def _proxy_for(url: str) -> str:
    """The proxy that the environment names for an address; empty for local addresses."""
    parts = urlsplit(url)
    if is_local(url) or proxy_bypass(parts.hostname or ""):
        return ""
    proxies = getproxies()
    proxy = proxies.get(parts.scheme, proxies.get("all", ""))
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def words_of(content: Mapping[str, Any] | None, text: str) -> str:
    """A server's error message on one line.

    >>> words_of({"error": {"message": "no such model"}}, ""), words_of(None, "<h1>Bad gateway</h1>")
    ('no such model', 'Bad gateway')
    """
    error = (content or {}).get("error", content)
    message = error.get("message") or error.get("detail") if isinstance(error, Mapping) else error
    words = " ".join((message if isinstance(message, str) else re.sub(r"<[^<>]*>", " ", text)).split()) or "nothing"
    return words if len(words) <= LONGEST_WORDS else f"{words[:LONGEST_WORDS]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The pause in seconds that a server asks for, as seconds or as a date.

    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after-ms": "250"}), retry_after({"retry-after": "soon"})
    (2.0, 0.25, None)
    >>> retry_after({"retry-after": "Wed, 21 Oct 2026 07:28:05 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"})
    5.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        pause = headers.get(name, "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", pause, re.ASCII):
            return min(float(pause) * unit, LONGEST_PAUSE)
    moment, now = _moment(headers.get("retry-after", "")), _moment(headers.get("date", ""))
    if moment is None:
        return None
    if now is None:  # the server's clock comes first, as this machine's may be wrong
        now = time.time()
    return min(max(0.0, moment - now), LONGEST_PAUSE)


def _moment(date: str) -> float | None:
    """The Unix time of a header's date; None if it is no date, or one that no clock shows."""
    try:
        return email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _object(text: str) -> dict[str, Any] | None:
    try:
        content = json_value(text, mend=True)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def is_filtered(content: Mapping[str, Any]) -> bool:
    """Whether an error, which came with the status 400, says that a content filter withheld the prompt."""
    error = content.get("error")
    return isinstance(error, Mapping) and "content_filter" in (error.get("code"), error.get("type"))


# --- the key in what a server sends back

SHORTEST = 16
"""The fewest characters of a key that is removed."""
MARK = "[key]"
"""What stands in the key's place."""

_warned: set[str] = set()
"""Environment variables with a short key that the user was warned of."""


class Redaction:
    """Replaces a key in texts, however it is written: in another letter case, percent-encoded, escaped, hex, base64.

    Only texts change: the names of fields, numbers and the structure of a reply never do, because the parser needs
    them. A key of fewer than 16 characters stays, since such a key ("token", "A") can be a word of any answer; the user
    is warned.
    """

    def __init__(self, key: str) -> None:
        self._shortest = len(key)
        self._pattern = re.compile(_pattern(key)) if len(key) >= SHORTEST else None

    def text(self, text: str) -> str:
        """The text without the key."""
        if self._pattern is None or len(text) < self._shortest:
            return text
        changed = 1
        while changed:  # what stands on both sides of a removed key may form the key again
            text, changed = self._pattern.subn(MARK, text)
        return text

    def value(self, value: Any) -> Any:
        """Decoded JSON whose texts are without the key, and which is otherwise the same."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self.value(inner) for name, inner in value.items()}
        return [self.value(inner) for inner in value] if isinstance(value, list) else value


def warn_if_short(key: str, key_env: str) -> None:
    """Warn once of a key that is not removed from replies; the warning names its environment variable only."""
    if key and len(key) < SHORTEST and key_env not in _warned:
        _warned.add(key_env)
        problem = f"{key_env} has fewer than {SHORTEST} characters, so it could be a word of an answer"
        warnings.warn(f"{problem}: if the server repeats this key, it is stored and shown.", stacklevel=3)


def _pattern(key: str) -> str:
    raw = "".join(map(_in_any_spelling, key))
    as_hex = "".join(map(_in_any_case, key.encode().hex()))
    return "|".join((raw, as_hex, *(_of_base64(key.encode(), before) for before in range(3))))


def _of_base64(key: bytes, before: int) -> str:
    """The key within a longer text in base64, after so many bytes modulo 3, without digits that neighbours share."""
    encoded = base64.b64encode(bytes(before) + key).decode()
    first, end = -(-before * 8 // 6), (before + len(key)) * 8 // 6
    twins = {"+": f"(?:{_exactly('+')}|-)", "/": f"(?:{_exactly('/')}|_)"}  # the second is of the alphabet for URLs
    return "".join(twins.get(digit, digit) for digit in encoded[first:end])


def _in_any_spelling(letter: str) -> str:
    """A letter in either case, as it is or escaped: for URLs (also twice), JSON, programs or HTML."""
    return f"(?:{'|'.join(_exactly(spelling) for spelling in sorted({letter.lower(), letter.upper()}))})"


def _exactly(letter: str) -> str:
    code = _in_any_case(f"{ord(letter):02x}")
    escaped = rf"%(?:25)?{code}|\\{{1,4}}(?:u00|x){code}|&#(?:[xX]0{{0,4}}{code}|0{{0,4}}{ord(letter)});"
    plain = r"\\{1,2}" if letter == "\\" else rf"\\{{0,4}}{re.escape(letter)}"
    return f"{plain}|{escaped}"


def _in_any_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)
