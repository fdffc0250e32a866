"""Read the pages of learnt addresses that switches show on their command lines, many side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.errors import DeviceError, TagloomError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.platforms import Platform

import_module("numpy.ma")  # before any thread begins that needs it: see adapters/worker_pool.py

AT_ONCE = 32


def read_address_tables(
    platforms: Mapping[str, Platform], known: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the pages of switches by name, and of those that could not be read why not.

    `known` says how each is logged in to, as Ansible has it. Nothing is configured.
    """

    def read(name: str) -> tuple[str, str]:
        try:
            if name not in known:
                raise DeviceError(name, "login", "not in the inventory")
            with connect(name, platforms[name], Access.of_host(known[name])) as session:
                return session.address_table(), ""
        except TagloomError as error:
            return "", error.text if isinstance(error, DeviceError) else str(error)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = dict(zip(platforms, threads.map(read, platforms), strict=True))
    return (
        {name: text for name, (text, why) in answers.items() if not why},
        {name: why for name, (_, why) in answers.items() if why},
    )
