"""Read pages that switches show on their command lines, many side by side: learnt addresses, configurations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.errors import DeviceError, TagloomError
from tagloom.platforms.detect import mistaken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tagloom.adapters.routeros import RouterOsSwitch
    from tagloom.adapters.shell import LinuxSwitch
    from tagloom.adapters.ssh import SshSwitch
    from tagloom.platforms import Platform

    Connection = SshSwitch | LinuxSwitch | RouterOsSwitch

import_module("numpy.ma")  # before any thread begins that needs it: see adapters/worker_pool.py

AT_ONCE = 32


def read_address_tables(
    platforms: Mapping[str, Platform], known: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the tables of learnt addresses, as `read_pages` does."""
    return read_pages(platforms, known, lambda _name, session: session.address_table())


def read_configurations(
    platforms: Mapping[str, Platform], known: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return running configurations, as `read_pages` does; a switch of another model than said could not be read."""

    def running(name: str, session: Connection) -> str:
        if wrong := mistaken(platforms[name].model, session.identity(), name):
            raise DeviceError(name, "show version", str(wrong[0]))
        return session.running_configuration()

    return read_pages(platforms, known, running)


def read_pages(
    platforms: Mapping[str, Platform],
    known: Mapping[str, Mapping[str, Any]],
    page: Callable[[str, Connection], str],
) -> tuple[dict[str, str], dict[str, str]]:
    """Return a page of each switch by name, and of those that could not be read why not.

    `known` says how each is logged in to, as Ansible has it; `page` reads one of a switch by its name. Nothing is
    configured.
    """

    def read(name: str) -> tuple[str, str]:
        try:
            if name not in known:
                raise DeviceError(name, "login", "not in the inventory")
            with connect(name, platforms[name], Access.of_host(known[name])) as session:
                return page(name, session), ""
        except TagloomError as error:
            return "", error.text if isinstance(error, DeviceError) else str(error)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = dict(zip(platforms, threads.map(read, platforms), strict=True))
    return (
        {name: text for name, (text, why) in answers.items() if not why},
        {name: why for name, (_, why) in answers.items() if why},
    )
