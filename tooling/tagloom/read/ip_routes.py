"""Read routers' tables: ``vtysh -c "show ip route json"`` of FRR and SONiC, or ``ip -json route`` of Linux."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.storage.document import read_json, shown

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.read.table_rows import TableRows

_Network = IPv4Network | IPv6Network
_OWN = ("connected", "local", "kernel")
_Table = dict[_Network, tuple[str, ...]]


def read_ip_routes(files: list[Path], rows: TableRows, directory: Path) -> None:
    """Add the routes of routers to links, SWITCH.json for each; destinations are the networks that one is attached to.

    Every router sends by its longest prefix that holds the whole network. Networks of links between routers are no
    destinations. Raises InputError with all findings.
    """
    findings: list[Finding] = []
    tables: dict[str, _Table] = {}
    attached: dict[_Network, str] = {}
    for path in files:
        if path.stem not in rows.switches:
            findings.append(Finding(str(path), "the name of a switch in links.csv", shown(path.stem)))
            continue
        tables[path.stem], own = _table(path, findings)
        for network, port in own.items():
            if not rows.is_link(path.stem, port):
                attached.setdefault(network, path.stem)
    if not tables and not findings:
        findings.append(Finding(str(directory), "tables.csv, or SWITCH.json of routers", "neither"))
    if findings:
        raise InputError(findings)
    for switch, table in tables.items():
        for network in attached:
            ports = _longest(table, network)
            if ports:
                rows.add_entry(switch, str(network), ports, f"{directory}/{switch}.json")


def _table(path: Path, findings: list[Finding]) -> tuple[_Table, dict[_Network, str]]:
    """Read one router's routes in use by prefix, and the networks it is attached to with their ports."""
    page = read_json(path, "a router's table in JSON")
    routes: _Table = {}
    attached: dict[_Network, str] = {}
    for where, prefix, ports, own in _linux(page) if isinstance(page, list) else _frr(page):
        try:
            network = ip_network("0.0.0.0/0" if prefix == "default" else str(prefix), strict=False)
        except ValueError:
            findings.append(Finding(f"{path}: {where}", "a prefix", shown(prefix)))
            continue
        named = tuple(port for port in ports if isinstance(port, str) and port)
        if not named or len(named) != len(ports):
            continue  # a route that is not in use, or leads nowhere
        routes.setdefault(network, named)
        if own:
            attached[network] = named[0]
    if not routes:
        findings.append(Finding(str(path), "routes of FRR, SONiC or Linux in JSON", shown(page)))
    return routes, attached


def _frr(page: Any) -> list[tuple[str, object, list[object], bool]]:
    """List (place, prefix, ports, attached) of FRR's page, which is by prefix; of several routes the selected one."""
    found = []
    for prefix, routes in page.items() if isinstance(page, dict) else ():
        for route in routes if isinstance(routes, list) else ():
            hops = route.get("nexthops") if isinstance(route, dict) and route.get("selected") else None
            used = [hop for hop in hops if isinstance(hop, dict)] if isinstance(hops, list) else []
            ports = [hop.get("interfaceName") for hop in used if hop.get("fib", True) and hop.get("active", True)]
            own = bool(used) and all(hop.get("directlyConnected") for hop in used)
            found.append(
                (str(prefix), prefix, ports, own and isinstance(route, dict) and route.get("protocol") in _OWN)
            )
    return found


def _linux(page: list[Any]) -> list[tuple[str, object, list[object], bool]]:
    """List (place, prefix, ports, attached) of iproute2's page."""
    found = []
    for number, route in enumerate(page):
        if not isinstance(route, dict):
            continue
        hops = route.get("nexthops")
        used = [hop for hop in hops if isinstance(hop, dict)] if isinstance(hops, list) else [route]
        own = "gateway" not in route and "via" not in route and not isinstance(hops, list)
        found.append((f"[{number}]", route.get("dst"), [hop.get("dev") for hop in used], own))
    return found


def _longest(table: _Table, network: _Network) -> tuple[str, ...]:
    """Return the ports of the longest prefix that holds a network; none where no prefix does."""
    for length in range(network.prefixlen, -1, -1):
        if (ports := table.get(network.supernet(new_prefix=length))) is not None:
            return ports
    return ()
