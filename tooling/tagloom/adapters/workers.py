"""Find who computes: processes on this machine's cores, or a Dask cluster, behind one executor."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

CONNECT_SECONDS = 10


@contextmanager
def workers(scheduler: str | None, jobs: int | None) -> Iterator[Executor]:
    """Return an executor: of the cluster whose scheduler is named (tcp://host:port), else of `jobs` processes.

    Dask's executor speaks the protocol of concurrent.futures (distributed, Client.get_executor). Its workers need this
    package and the same files. Raises InputError where nobody answers.
    """
    if scheduler is None:
        # A fresh interpreter each: a fork would take locks of threads along that nobody opens again.
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
        return
    try:
        from distributed import Client  # noqa: PLC0415 - a second that only a cluster is worth
    except ImportError:
        raise InputError([Finding("--scheduler", "Dask:  pip install 'tagloom[cluster]'", "not installed")]) from None
    try:
        client: Any = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        expected = "the address of a Dask scheduler that answers, tcp://host:port"
        raise InputError([Finding("--scheduler", expected, f"{scheduler}: {str(error)[:100]}")]) from None
    with client, client.get_executor() as cluster:
        yield cluster
