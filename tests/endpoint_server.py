"""An endpoint on loopback: it speaks the dialects that it is told to, counts what it is asked, and misbehaves at will.

What it answers follows from the question alone, so that two runs on it find the same. `behave` may answer instead: it
gets what was asked and gives a `Sent`, or None for the usual answer.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

ALL = frozenset({"logprobs", "structured", "echo", "decisions", "systemone", "text"})
MODEL = "tiny-llm"
_OF_FINDING = ("A spoon, a boat", "dark in the room", "hello to everybody", "random number between", "opposite of hot")


@dataclass(frozen=True)
class Asked:
    """A request: which it is of all, and how many equal ones came before it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int
    before: int

    @property
    def prompt(self) -> str:
        return self.messages[-1]["content"]

    @property
    def messages(self) -> list[dict[str, str]]:
        """What was said, to the last question; a completion has one prompt."""
        every = self.body.get("messages", [{"role": "user", "content": str(self.body.get("prompt", ""))}])
        return every[:-1] if self.begun else every

    @property
    def begun(self) -> str:
        """The beginning of the answer."""
        last = self.body.get("messages", [{"role": "user"}])[-1]
        return str(last["content"]) if last["role"] == "assistant" else ""


@dataclass(frozen=True)
class Sent:
    """A reply, after a `wait`. `cut` closes the connection after so many bytes of it; `drip` sends a byte at a time."""

    status: int = 200
    content: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    drip: float = 0.0
    wait: float = 0.0

    @property
    def body(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()


Behave = Callable[[Asked], Sent | None]


@dataclass
class Server:
    """A running endpoint. `asked` has all requests; `came` when each body came, `answered` when it got a 200."""

    dialects: frozenset[str] = ALL
    behave: Behave = lambda asked: None
    latency: float = 0.0
    most: int | None = None  # so many requests at once, else 429
    chooses: Callable[[Asked], list[float]] | None = None
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    came: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    answered: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    under_way: int = 0
    turned_down: int = 0
    hang_up: bool = False  # after every reply, without a word

    @property
    def model(self) -> str:
        return f"api:{MODEL}@{self.url}"

    @property
    def questions(self) -> list[Asked]:
        """What was asked after the abilities were found."""
        return [each for each in self.asked if not any(words in str(each.body) for words in _OF_FINDING)]

    def reply(self, asked: Asked) -> Sent:
        special = self.behave(asked)
        if special is not None:
            return special
        return Sent(content=self.usual(asked)) if self._speaks(asked) else _missing()

    def _speaks(self, asked: Asked) -> bool:
        needs = {"/v1/decisions": "decisions", "/v1/systemone": "systemone", "/v1/completions": "echo"}
        return needs.get(asked.path, "text") in self.dialects or asked.path == "/v1/completions"

    def usual(self, asked: Asked) -> dict[str, Any]:
        """The right answer to a request, as far as this server speaks its dialect."""
        body = asked.body
        content: dict[str, Any] = {"model": MODEL, "system_fingerprint": "fp_1"}
        words = len(json.dumps(body)) // 5
        content["usage"] = {"prompt_tokens": words, "completion_tokens": 1, "input_tokens": words}
        if asked.path == "/v1/decisions":
            values = [choice["value"] for choice in body["questions"][0]["choices"]]
            shares = self._shares(asked, len(values))
            given = [{"value": v, "probability": p} for v, p in zip(values, shares, strict=True)]
            return content | {"answers": [{"type": "choice", "choice": values[0], "probabilities": given}]}
        if asked.path == "/v1/systemone":
            values = list(body["questions"]["answer"]["criteria"])
            shares = dict(zip(values, self._shares(asked, len(values)), strict=True))
            return content | {"answers": {"answer": {"type": "choice", "choice": values[0], "probabilities": shares}}}
        if asked.path == "/v1/completions":
            return content | {"choices": [self._completion(asked)]}
        return content | {"choices": [self._chat(asked)]}

    def _chat(self, asked: Asked) -> dict[str, Any]:
        body, letters, said_before = asked.body, ["A", "B", "C"], str(asked.messages)
        shares = self._shares(asked, 3)
        outside = 0.02
        if "opposite of hot" in said_before:
            return {"message": {"content": self._opposite(body)}, "finish_reason": "stop"}
        if "(a) " in said_before:
            letters = ["(a)", "(b)", "(c)"]
        if "structured" in self.dialects and "structured_outputs" in body:
            letters, outside = body["structured_outputs"]["choice"], 0.0
            shares = self._shares(asked, len(letters))
        elif not any(listed in said_before for listed in ("A. ", "(A) ", "(a) ")):
            outside = 0.9
        best = letters[max(range(len(letters)), key=shares.__getitem__)]
        said = best if body.get("max_tokens") == 1 else f"The answer is {best}."
        if body.get("temperature") == 1:
            drawn = zlib.crc32(f"{asked.prompt} {body['seed']}".encode())
            said = f"{letters[drawn % 3]}. ({drawn})"
        if "repeats" in self.dialects and asked.begun:
            said = f"{asked.begun} {said}"
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        if "logprobs" in self.dialects and body.get("logprobs"):
            tokens = [(letter, share * (1 - outside)) for letter, share in zip(letters, shares, strict=True)]
            tokens += [("Well", outside)] if outside else []
            top = [{"token": t, "logprob": math.log(p), "bytes": list(t.encode())} for t, p in tokens if p > 0]
            choice["logprobs"] = {"content": [{"token": best, "logprob": top[0]["logprob"], "top_logprobs": top}]}
            if letters[0] == "(a)":
                choice["logprobs"] = {"content": _in_brackets(dict(tokens))}
        return choice

    def _opposite(self, body: dict[str, Any]) -> str:
        """The end of "co", from a server that goes on by itself ("continues"; "repeats": and says all of it), or where
        it is told to ("continued").
        """
        if "repeats" in self.dialects:
            return f"{body['messages'][-1]['content']}ld."
        told = body.get("continue_final_message") and not body.get("add_generation_prompt", True)
        return "ld." if "continues" in self.dialects or ("continued" in self.dialects and told) else "Cold."

    def _completion(self, asked: Asked) -> dict[str, Any]:
        prompt = asked.body["prompt"]
        if "echo" not in self.dialects:
            return {"text": " x", "logprobs": {"tokens": [" x"], "token_logprobs": [-1.0]}}
        tokens = [prompt[at : at + 4] for at in range(0, len(prompt), 4)]
        values = [None, *(-_drawn(prompt, token, at) for at, token in enumerate(tokens[1:]))]
        return {"text": prompt, "logprobs": {"tokens": tokens, "token_logprobs": values}}

    def _shares(self, asked: Asked, options: int) -> list[float]:
        if self.chooses is not None and options == 3:
            return self.chooses(asked)
        drawn = [0.1 + _drawn(json.dumps(asked.body), place) for place in range(options)]
        return [each / sum(drawn) for each in drawn]

    # --- over the wire

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        path = first.split()[1]
        body = json.loads(raw) if raw else {}
        same = json.dumps([path, body])
        asked = Asked(path, headers, body, len(self.asked), len(self.came[same]))
        self.asked.append(asked)
        self.came[same].append(time.monotonic())
        self.under_way += 1
        try:
            if self.most is not None and self.under_way > self.most:
                self.turned_down += 1
                sent = Sent(429, {"error": {"message": "too many at once"}})
            else:
                if self.latency:
                    await asyncio.sleep(self.latency)
                sent = self.reply(asked)
                await asyncio.sleep(sent.wait)
            await self._send(writer, sent, same)
        finally:
            self.under_way -= 1
        return sent.cut is None and not self.hang_up

    async def _send(self, writer: asyncio.StreamWriter, sent: Sent, same: str) -> None:
        body = sent.body
        head = f"HTTP/1.1 {sent.status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in sent.headers.items())
        writer.write(head.encode() + b"\r\n")
        if sent.drip:
            for place in range(len(body)):
                writer.write(body[place : place + 1])
                await writer.drain()
                await asyncio.sleep(sent.drip)
            return
        writer.write(body if sent.cut is None else body[: sent.cut])
        await writer.drain()
        if sent.status == 200 and sent.cut is None:
            self.answered[same].append(time.monotonic())


def _in_brackets(shares: dict[str, float]) -> list[dict[str, Any]]:
    """Where letters in brackets are three tokens: the bracket has all of their probability, each letter its share."""

    def entry(of: dict[str, float], best: str) -> dict[str, Any]:
        top = [{"token": token, "logprob": math.log(share)} for token, share in of.items() if share > 0]
        return {"token": best, "logprob": math.log(of[best]), "top_logprobs": top}

    outside = shares.pop("Well", 0.0)
    inside = sum(shares.values())
    letters = {token.strip("()"): share / inside for token, share in shares.items()}
    end = {")": 0.9, ".": 0.1}
    return [
        entry({" (": inside, "Well": max(outside, 1e-9)}, " ("),
        entry(letters, max(letters, key=letters.__getitem__)),
        entry(end, ")"),
    ]


def _missing() -> Sent:
    return Sent(404, {"error": {"message": "no such path"}})


def _drawn(*what: object) -> float:
    return zlib.crc32(repr(what).encode()) / 2**32


@contextmanager
def serving(dialects: frozenset[str] = ALL, port: int = 0, **how: Any) -> Iterator[Server]:
    """A server in a thread of its own, at a free port or the given one."""
    server = Server(dialects, **how)
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    started = asyncio.run_coroutine_threadsafe(asyncio.start_server(server.handle, "127.0.0.1", port), loop).result()
    server.url = f"http://127.0.0.1:{started.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_end(started), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(started: asyncio.Server) -> None:
    started.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
