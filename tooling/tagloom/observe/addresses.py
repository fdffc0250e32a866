"""Find hosts' addresses that switches have learned or that lists name, and the changes they make to a fabric."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.observe.address_pages import address_page
from tagloom.observe.interpret import CALLS_ITSELF
from tagloom.observe.objects import COLUMNS, LEARNED
from tagloom.observe.readings import observe_all
from tagloom.plain_text import printable
from tagloom.platforms.port_names import port_name
from tagloom.records.addresses import AddressChange, AddressChanges, SeenAddress
from tagloom.records.fabric import FIRST_INVENTED_MAC
from tagloom.units import format_mac, is_host_address

# What complaints about the tables of learnt addresses name: a table, or a column whose walk did not end.
_TABLES = ("TpFdbTable", *(".".join(map(str, oid)) for name, oid in COLUMNS.items() if "TpFdb" in name))
_SHOWN_CHARACTERS = 100

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tagloom.platforms import Platform
    from tagloom.records.addresses import HostList
    from tagloom.records.fabric import Fabric, Host
    from tagloom.records.snmp import Address, Ask

    AddressTable = Mapping[tuple[int, int], int]  # (VLAN, MAC address) -> port
    # of switches by name, their pages and, of those that could not be read, why not
    ReadPages = Callable[[Mapping[str, Platform]], tuple[dict[str, str], dict[str, str]]]


def learned_addresses(fabric: Fabric, tables: Mapping[str, AddressTable]) -> list[SeenAddress]:
    """Return every address learned at a host's port or a free one.

    Ports of links and port-channels, uplinks, reserved ports and the controller's are left out: addresses learned there
    are elsewhere, or not the fabric's. An address seen at one port in several VLANs counts once.
    """
    host = {(each.switch, each.port): each.name for each in fabric.hosts}
    taken = {*fabric.reserved, *((fabric.hosts[u].switch, fabric.hosts[u].port) for u in fabric.uplinks.tolist())}
    for link in fabric.links:
        for a, b in (*link.cables, (link.a_port, link.b_port)):
            taken |= {(link.a, a), (link.b, b)}
    if fabric.management is not None:
        taken.add((fabric.management.switch, fabric.management.port))
    found: list[SeenAddress] = []
    for name, table in tables.items():
        s = fabric.index[name]
        for port, mac in sorted({(port, mac) for (_, mac), port in table.items()}):
            if (s, port) not in taken and is_host_address(mac):
                found.append(SeenAddress(mac, port_name(fabric, s, port), host.get((s, port), "")))
    return found


def learn(
    fabric: Fabric,
    agents: Mapping[str, Address],
    ask: Ask | None,
    *,
    pages: ReadPages | None = None,
    change: bool = False,
    several: bool = False,
) -> AddressChanges:
    """Return the changes from addresses learned at hosts' ports.

    `pages` reads the tables on the command lines of switches whose agents show none, or of all without `ask`. `change`
    also replaces addresses in the file, `several` takes all that a port shows.
    """
    fabric = fabric.one_host_a_port
    seen = observe_all(fabric, agents, ask, LEARNED) if ask is not None else {}
    failed = {name: shown.error for name, shown in seen.items() if shown.error}
    failed |= {  # whose hosts are those of another switch, where addresses are swapped
        name: f"{words} If it is not, read it with --over ssh and tagloom_own_name"
        for name, shown in seen.items()
        for words in shown.complaints
        if words.startswith(CALLS_ITSELF)
    }
    tables = {name: shown.vlans.learned for name, shown in seen.items() if shown.vlans.learned and name not in failed}
    missing: list[Finding] = []
    rest = [switch.name for switch in fabric.live if switch.name not in failed and switch.name not in tables]
    read, unread, wrong = _by_command_line(fabric, rest, pages) if pages is not None and rest else ({}, {}, [])
    missing += wrong
    missing += [
        Finding(name, "a table of learnt addresses whose rows can all be read", printable(said))
        for name, shown in seen.items()
        for said in shown.complaints
        if name not in read and shown.vlans.learned is not None and any(table in said for table in _TABLES)
    ]
    for name in rest:
        if name in read:
            tables[name] = read[name]
        elif name not in seen:
            failed[name] = unread[name]
        elif seen[name].vlans.learned is None:
            why = f"none over SNMP; over SSH: {unread[name]}" if name in unread else "none over SNMP"
            missing.append(Finding(name, "a table of learnt addresses (dot1qTpFdbTable, dot1dTpFdbTable)", why))
    found = learned_addresses(fabric, tables)
    at = {host.name: f"{host.name} at {port_name(fabric, host.switch, host.port)}" for host in fabric.hosts}
    silent = {host.name for host in fabric.hosts if fabric.switches[host.switch].name in failed}
    wanted = "an address, learnt when the host sends"
    changes = choose(fabric, found, at, wanted, silent, change=change, several=several)
    return replace(changes, findings=(*missing, *changes.findings), failed=failed, over_ssh=tuple(read))


def _by_command_line(
    fabric: Fabric, names: Collection[str], pages: ReadPages
) -> tuple[dict[str, AddressTable], dict[str, str], list[Finding]]:
    """Return the address tables on switches' command lines, errors of those that could not be read, and findings.

    A row that is not understood is a finding.
    """
    models = {name: platforms.of(fabric.switches[fabric.index[name]]) for name in names}
    texts, unread = pages(models)
    tables: dict[str, AddressTable] = {}
    wrong: list[Finding] = []
    for name, text in texts.items():
        page = address_page(models[name], text)
        if page is None:
            unread[name] = "its page is no table of addresses"
            continue
        tables[name] = page.learned
        if page.unread:
            wrong.append(Finding(name, "rows of its address table that can be read", _shown_rows(page.unread)))
    return tables, unread, wrong


def _shown_rows(rows: Collection[str]) -> str:
    """Write rows that could not be read: how many, and the first of them."""
    first = printable(next(iter(rows)))[:_SHOWN_CHARACTERS]
    return first if len(rows) == 1 else f"{len(rows)} that cannot, the first: {first}"


def import_list(fabric: Fabric, listed: HostList, *, change: bool = False, several: bool = False) -> AddressChanges:
    """Return the changes from a list of hosts.

    `change` also replaces addresses that differ from the file's, `several` takes all that the list has of a host. An
    unknown name is tried without its domain. If a list has no addresses, only names are compared.
    """
    fabric = fabric.one_host_a_port
    hosts = {host.name for host in fabric.hosts}

    def known(name: str) -> str:
        return next((each for each in (name, name.partition(".")[0]) if each in hosts), "")

    if listed.names:
        strangers = [SeenAddress(0, where, name=name) for name, where in listed.names if not known(name)]
        silent = sorted(hosts - {known(name) for name, _ in listed.names})
        found = [Finding(each.where, "a host of the fabric", each.name) for each in strangers]
        return AddressChanges(unknown=tuple(strangers), silent=tuple(silent), findings=(*listed.remarks, *found))
    addresses = [replace(each, host=known(each.name)) for each in listed.addresses]
    unlike = {(each.name, each.mac): each for each in reversed(addresses)}  # a lease and its reservation count once
    at = {name: f"hosts.{name}" for name in hosts}
    wanted = "an address, of a list or of the file"
    changes = choose(fabric, list(unlike.values())[::-1], at, wanted, change=change, several=several)
    return replace(changes, findings=(*listed.remarks, *changes.findings))


def choose(
    fabric: Fabric,
    found: list[SeenAddress],
    at: Mapping[str, str],
    wanted: str,
    unread: frozenset[str] | set[str] = frozenset(),
    *,
    change: bool = False,
    several: bool = False,
) -> AddressChanges:
    """Return the changes that found addresses make to a fabric, if they are beyond doubt.

    A host with a single address that no other host has takes it. The file's addresses stay if one is among those found.
    A host whose addresses are at a free port instead has moved there. Addresses that begin as a host's `prefixes` are
    those of machines, which come beside its own, and go where another such host of its network shows them.

    `at` names each host in findings, `wanted` says what a host without any address lacks, and `unread` are hosts that
    could not be observed. If the file has another address or place, `change` takes the new one. With `several` a host
    takes all addresses found, besides the file's.
    """
    hosts = {host.name: host for host in fabric.hosts}
    owner = {mac: fabric.hosts[h].name for mac, h in fabric.host_of_mac.items()}
    of_host: dict[str, dict[int, str]] = {name: {} for name in hosts}
    of_mac: dict[int, dict[str, str]] = {}
    for each in found:
        of_mac.setdefault(each.mac, {}).setdefault(each.host or each.where, each.where)
        if each.host:
            of_host[each.host].setdefault(each.mac, each.where)
    away = {
        mac: name for mac, name in owner.items() if not of_host[name] and name not in unread and not hosts[name].uplink
    }
    chosen = _moved(hosts, found, away)
    moved = {(mac, each.where) for each in chosen.values() for mac in each.macs}
    unknown = [each for each in found if not each.host and (each.mac, each.where) not in moved]
    findings = [_stranger(each, owner) for each in unknown]
    twice = {mac: places for mac, places in of_mac.items() if len([n for n in places if n in hosts]) > 1}
    for mac, places in twice.items():
        findings.append(Finding(format_mac(mac), "one host", " and ".join(sorted({at.get(n, n) for n in places}))))
    migrated = _migrated(hosts, owner, of_host, twice.keys(), unread)
    silent: list[str] = []
    made_up: list[str] = []
    for name, host in hosts.items():
        new = {mac: where for mac, where in of_host[name].items() if mac not in host.macs}
        sure = [mac for mac in new if mac not in twice]
        if host.uplink:
            continue  # who is behind it is nobody's to name
        machines = [mac for mac in sure if host.takes(mac) and (mac not in owner or migrated.get(mac) == name)]
        gone = [mac for mac in host.macs if mac in migrated]
        kept = [] if host.invented else [mac for mac in host.macs if mac not in gone]
        own = [mac for mac in of_host[name] if not host.takes(mac)]
        if not of_host[name] and not gone and name not in unread and name not in chosen:
            silent.append(name)
            if host.invented:
                findings.append(Finding(at[name], wanted, "none"))
        if several:
            new_macs = [*kept, *sure]
        elif len(own) == len(_own(host)) == 1 and own[0] in new:
            card = own if own[0] in sure else [mac for mac in kept if not host.takes(mac)]
            new_macs = [*card, *(mac for mac in kept if host.takes(mac)), *machines]
        else:
            new_macs = [*kept, *machines]
            rest = {mac: where for mac, where in new.items() if mac not in machines}
            unknown += [SeenAddress(mac, where, name) for mac, where in rest.items()]
            if own and all(mac in rest for mac in own):
                found_macs = " and ".join(format_mac(mac) for mac in rest)
                expected = "one address, or that of the fabric file among them (--several takes all)"
                findings.append(Finding(at[name], expected, found_macs))
        if new_macs != ([] if host.invented else list(host.macs)) and name not in chosen:
            mac = next((mac for mac in new_macs if mac not in kept), gone[0] if gone else 0)
            where = new.get(mac) or of_host[migrated[mac]][mac]
            before, with_others = None if host.invented else host.mac, (*gone, *(m for m in machines if m in migrated))
            several_macs = None if new_macs == [mac] else tuple(new_macs)
            chosen[name] = AddressChange(name, mac, before, where, several=several_macs, migrated=with_others)
        made_up += [name] if host.invented and of_host[name] and not new else []
    seen = AddressChanges(
        unknown=tuple(unknown), silent=tuple(silent), findings=tuple(findings), made_up=tuple(made_up)
    )
    return _settle(fabric, chosen, seen, at, change)


def _own(host: Host) -> list[int]:
    """Return a host's addresses but those of machines that come and go."""
    return [mac for mac in host.macs if not host.takes(mac)]


def _migrated(
    hosts: Mapping[str, Host],
    owner: Mapping[int, str],
    of_host: Mapping[str, Mapping[int, str]],
    twice: Collection[int],
    unread: Collection[str],
) -> dict[int, str]:
    """Return the host at whose port each machine was found that the fabric has at another, by the machine's address.

    Both hosts take such addresses and are of one network, and the former one was read and shows it no more.
    """
    return {
        mac: name
        for name, found in of_host.items()
        for mac in found
        if (was := owner.get(mac, name)) != name
        and hosts[was].takes(mac)
        and hosts[name].takes(mac)
        and hosts[was].network == hosts[name].network
        and not (mac in twice or was in unread)
    }


def _stranger(each: SeenAddress, owner: Mapping[int, str]) -> Finding:
    whose = f" (that of {owner[each.mac]})" if each.mac in owner else ""
    said = f"{each.name}, {format_mac(each.mac)}" if each.name else format_mac(each.mac)
    return Finding(each.where, "a host of the fabric", said + whose)


def _moved(hosts: Mapping[str, Host], found: list[SeenAddress], away: Mapping[int, str]) -> dict[str, AddressChange]:
    """Return hosts that moved: their own port shows nothing, and one other port shows exactly their addresses.

    `away` maps addresses to such hosts. The other port must be free, and not from a list, which has no ports.
    """
    of_host: dict[str, set[str]] = {}
    of_port: dict[str, set[str]] = {}
    for each in found:
        of_port.setdefault(each.where, set()).add(away.get(each.mac, ""))
        if each.mac in away:
            of_host.setdefault(away[each.mac], set()).add(each.where)
    chosen = {}
    for each in found:
        name = away.get(each.mac, "")
        if name and hosts[name].takes(each.mac) and not all(map(hosts[name].takes, hosts[name].macs)):
            continue  # a machine on it, not the host itself
        if name and not each.host and not each.name and len(of_host[name]) == len(of_port[each.where]) == 1:
            mac, macs = hosts[name].mac, hosts[name].macs
            chosen[name] = AddressChange(name, mac, mac, each.where, moved=True, several=macs)
    return chosen


def _settle(
    fabric: Fabric, chosen: dict[str, AddressChange], rest: AddressChanges, at: Mapping[str, str], change: bool
) -> AddressChanges:
    """Return the chosen changes as learned and changed, without those that would give two hosts one address."""
    findings = list(rest.findings)
    added = {name for name, each in chosen.items() if each.adds or (each.before is None and not each.migrated)}
    findings += [
        Finding(
            format_mac(mac),
            f"{at[name]}, as the fabric file has it",
            f"seen at {next(each.where for each in chosen.values() if mac in each.migrated and mac in each.macs)}"
            " (--replace writes it)",
        )
        for name, left in chosen.items()
        for mac in left.migrated
        if not change and mac not in left.macs
    ]
    findings += [
        Finding(
            at[name],
            f"{format_mac(each.before)}, as the fabric file has it",
            f"{f'seen at {each.where}' if each.moved else format_mac(each.mac)} (--replace writes it)",
        )
        for name, each in chosen.items()
        if not change and each.before is not None and name not in added and not each.migrated
    ]
    written = {name: each for name, each in chosen.items() if change or name in added}
    while True:
        staying = (host for host in fabric.hosts if host.name not in written or written[host.name].adds)
        kept = {mac: host.name for host in staying for mac in host.macs}
        clash = {
            name: (mac, kept[mac]) for name, each in written.items() for mac in each.macs if kept.get(mac, name) != name
        }
        if not clash:
            break
        for name, (mac, other) in clash.items():
            written.pop(name)
            refused = set(chosen.pop(name).migrated)
            for both in [each.host for each in chosen.values() if not refused.isdisjoint(each.migrated)]:
                written.pop(both, None)
                chosen.pop(both)
            findings.append(
                Finding(at[name], "an address of its own", f"{format_mac(mac)} (that of {other} in the file)")
            )
    return replace(
        rest,
        learned=tuple(each for name, each in chosen.items() if name in added),
        changed=tuple(each for name, each in chosen.items() if name not in added),
        findings=tuple(findings),
    )


def refuse_other_hosts(fabric: Fabric, other: Fabric, where: str) -> None:
    """Raise InputError unless another fabric has the same hosts, at the same places and with the same addresses."""
    ours, theirs = (
        {
            host.name: (port_name(each, host.switch, host.port), " ".join(map(format_mac, host.macs)))
            for host in each.hosts
        }
        for each in (fabric, other)
    )
    unlike = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    if unlike:
        raise InputError(
            Finding(f"{where}: {name}", f"as the fabric file has it: {ours.get(name)}", str(theirs.get(name)))
            for name in unlike
        )


def with_changes(fabric: Fabric, changes: Collection[AddressChange]) -> Fabric:
    """Return a fabric whose hosts have the addresses and places of these changes, in every network of their ports.

    A host that is left without an address gets the one that reading the fabric file would make up.
    """
    by_name = {each.host: each for each in changes}
    hosts = []
    for h, host in enumerate(fabric.hosts):
        if (each := by_name.get(host.name.partition("@")[0])) is not None:
            if each.moved:
                name, _, word = each.where.partition(":")
                s = fabric.index[name]
                host = replace(host, switch=s, port=platforms.of(fabric.switches[s]).port_number(word) or host.port)  # noqa: PLW2901 - the same host
            macs = each.macs or (FIRST_INVENTED_MAC + h,)
            host = replace(host, mac=macs[0], also=macs[1:])  # noqa: PLW2901
        hosts.append(host)
    return replace(fabric, hosts=tuple(hosts))
