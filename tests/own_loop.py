"""Coroutines in a thread of their own: a browser's tests leave a running loop in the one that runs tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def in_own_thread(work: Callable[[], T]) -> T:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def run_alone(work: Coroutine[Any, Any, T]) -> T:
    return in_own_thread(lambda: asyncio.run(work))
