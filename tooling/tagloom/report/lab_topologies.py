"""Export a build of Linux bridges as a lab of containerlab or netlab: nodes that run the build's own scripts."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

import yaml

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.units import format_mac

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric

IMAGE = "wbitt/network-multitool"  # a shell, ping, and the whole iproute2: Busybox's own has no `bridge`
SCRIPT = "/tagloom.sh"
NETWORK = IPv4Network("198.18.0.0/15")  # for tests between hosts (RFC 2544, appendix C.2.2)
HOST_PORT = "eth1"  # eth0 is the lab's own


def containerlab(fabric: Fabric, configs: str) -> str:
    """Return a topology of containerlab; `configs` is where the build's scripts are, as seen from the file.

    Raises InputError for switches whose configurations no Linux machine runs.
    """
    check_scripts(fabric)
    nodes: dict[str, Any] = {
        switch.name: {"binds": [f"{configs}/{switch.name}.cfg:{SCRIPT}:ro"], "exec": [f"sh {SCRIPT}"]}
        for switch in fabric.live
    }
    nodes |= {name: {"exec": lines} for name, lines in _hosts(fabric).items()}
    links = [{"endpoints": [f"{a}:{p}", f"{b}:{q}"]} for a, p, b, q in cabling(fabric)]
    topology = {"kinds": {"linux": {"image": IMAGE}}, "defaults": {"kind": "linux"}, "nodes": nodes, "links": links}
    return _yaml({"name": fabric.name, "topology": topology})


def netlab(fabric: Fabric, configs: str) -> str:
    """Return a topology of netlab for its provider clab; as `containerlab`.

    netlab gives no link an address, and every node is a host to it: what a switch does, its script alone says.
    """
    check_scripts(fabric)
    nodes: dict[str, Any] = {
        switch.name: {"clab": {"binds": {f"{configs}/{switch.name}.cfg": f"{SCRIPT}:ro"}, "exec": [f"sh {SCRIPT}"]}}
        for switch in fabric.live
    }
    nodes |= {name: {"clab": {"exec": lines}} for name, lines in _hosts(fabric).items()}
    links = [
        {"prefix": False, "interfaces": [{"node": a, "ifname": p}, {"node": b, "ifname": q}]}
        for a, p, b, q in cabling(fabric)
    ]
    defaults = {"device": "linux", "devices": {"linux": {"clab": {"image": IMAGE}}}}
    return _yaml({"name": fabric.name, "provider": "clab", "defaults": defaults, "nodes": nodes, "links": links})


def check_scripts(fabric: Fabric) -> None:
    """Raise InputError for every switch whose configuration is no shell script."""
    wrong = [switch for switch in fabric.live if not platforms.of(switch).is_shell]
    if wrong:
        raise InputError(
            Finding(f"switches.{switch.name}.model", "linux-bridge, whose texts a container runs", switch.model)
            for switch in wrong
        )


def cabling(fabric: Fabric) -> list[tuple[str, str, str, str]]:
    """Return every cable between parts that live as (node, port, node, port): between switches, then to hosts."""
    named = [(switch.name, platforms.of(switch).port_name) for switch in fabric.switches]
    alive = [switch.up for switch in fabric.switches]
    found = [
        (named[a][0], named[a][1](p), named[b][0], named[b][1](q))
        for _, a, p, b, q in fabric.cables.tolist()
        if alive[a] and alive[b]
    ]
    ends = ((host.name, host.port, *named[host.switch]) for host in fabric.hosts)
    return [*found, *((switch, name_of(port), host, HOST_PORT) for host, port, switch, name_of in ends)]


def _hosts(fabric: Fabric) -> dict[str, list[str]]:
    """Return what each host runs: it takes its own hardware address, and an IP address of its own."""
    if len(fabric.hosts) > NETWORK.num_addresses - 2:
        raise InputError([Finding("hosts", f"at most {NETWORK.num_addresses - 2:,} for a lab", str(len(fabric.hosts)))])
    return {
        host.name: [
            *([f"ip link set dev {HOST_PORT} address {format_mac(host.mac)}"] if host.mac else []),
            f"ip address add {IPv4Address(int(NETWORK[1]) + n)}/{NETWORK.prefixlen} dev {HOST_PORT}",
            f"ip link set dev {HOST_PORT} up",
        ]
        for n, host in enumerate(fabric.hosts)
    }


def _yaml(document: dict[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=120)
