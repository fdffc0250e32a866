"""Write what the hosts of a fabric must do: the list for static ARP, the script that teaches the switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.records.switch_state import DEFAULT_AGING_SECONDS, Membership
from tagloom.units import format_mac

if TYPE_CHECKING:
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState


def static_arp(fabric: Fabric) -> str:
    """Write the variables of the role tagloom_static_arp: every host's name and MAC address."""
    return "\n".join(
        [
            "---",
            "# Variables of the role tagloom_static_arp: every host gets the MAC addresses of all others, so that none",
            "# asks for one by broadcast. The entries last until a host restarts.",
            "#   ansible-playbook -i hosts.yml playbooks/static-arp.yml -e @build/hosts/static-arp.yml",
            "tagloom_static_arp_hosts:",
            *(f'  - {{name: "{host.name}", mac: "{format_mac(host.mac)}"}}' for host in fabric.one_host_a_port.hosts),
            "",
        ]
    )


def _sleeping(name: str, hosts: tuple[str, ...]) -> str:
    """Write the play that lets the hosts' own ports sleep: both ends of a link must agree on EEE.

    ethtool(8), --set-eee; a port that cannot says so, and the play ends there for that host only.
    """
    return "\n".join(
        [
            "---",
            f"# Let the ports of {name}'s hosts sleep (IEEE 802.3az); the switches' side is in the configurations.",
            "#   ansible-playbook -i hosts.yml -e interface=eth0 build/hosts/eee.yml",
            f"- name: Let host ports of {name} sleep",
            f"  hosts: {','.join(hosts)}",
            "  become: true",
            "  gather_facts: false",
            "  vars:",
            "    interface: eth0",
            "  tasks:",
            "    - name: Turn EEE on",
            "      ansible.builtin.command:",
            '        argv: [ethtool, --set-eee, "{{ interface }}", eee, "on"]',
            "      changed_when: true",
            "",
        ]
    )


WITH_ENTRIES = """\
Those also hold static entries, which make this script needless; it is for
# switches that take none."""
WITHOUT_ENTRIES = """\
Those hold no static entries: until every host has run this script, and for a
# host that is forgotten, switches send frames to all hosts. Run it before you measure anything."""

LEARNING = """\
#!/bin/sh
# Teach the switches where this host is, in every VLAN of {name}: one tagged broadcast in each. Run it as root on
# every {whose}, in any order. It makes a VLAN interface, sends one ARP broadcast from it, and removes it. Switches
# forget what they learned after their aging time, {aging} s here: with a second argument, {half} say, the script goes
# on, and sends again each time as many seconds have passed. Without one, run it again within the aging time.
#
# On every switch: host ports must take tagged frames (acceptable frames: all) and be members of all VLANs {vlans},
# as in the configurations beside this file. {entries_there}
# Every switch learns up to {hosts} hosts x {count} VLANs = {entries} MAC addresses.
#
# A ping in each VLAN, the usual advice, is no use: frames leave to hosts untagged, so no echo ever reaches a VLAN
# interface. Source: Koibuchi et al. 2011, sect. 3.3, with a plain broadcast in place of the ping.
set -eu
port=${{1:?usage: {script} INTERFACE [SECONDS]}}
seconds=${{2:-0}}
address=$(ip -4 -o address show dev "$port" scope global | awk '{{ sub("/.*", "", $4); print $4; exit }}')
: "${{address:?no IPv4 address on $port}}"
trap 'ip link delete tagloom 2>/dev/null || true' EXIT
while :; do
    for vlan in {ids}; do
        ip link add link "$port" name tagloom type vlan id "$vlan"
        ip link set tagloom up
        arping -q -U -c 1 -I tagloom "$address" || true # nobody answers an announcement
        ip link delete tagloom
    done
    [ "$seconds" -gt 0 ] || break
    sleep "$seconds"
done
"""


TAGGED = """\
#!/bin/sh
# Teach the switches where this host is, in VLAN {vlan} of {name}: one broadcast. Run it as root on every host of the
# network whose port carries it tagged, with the interface that tags its frames ({port}.{vlan}, say); switches forget
# what they learned after their aging time, so run it again within that. Any frame that it sends there does the same.
set -eu
port=${{1:?usage: {script} INTERFACE.{vlan}}}
address=$(ip -4 -o address show dev "$port" scope global | awk '{{ sub("/.*", "", $4); print $4; exit }}')
: "${{address:?no IPv4 address on $port}}"
arping -q -U -c 1 -I "$port" "$address" || true # nobody answers an announcement
"""


def learning(fabric: Fabric, state: FabricState, assignment: str) -> dict[str, str]:
    """Write the shell script by which hosts teach the switches their places, by file name (Koibuchi et al. 2011, 3.3).

    Every switch on a tree learns every host in every VLAN, so with a table of T addresses and V VLANs there may be
    H = T / V hosts (Eq. 1). Several networks have a script each, for its hosts and its VLANs, and another for hosts
    whose port carries it tagged. Raises PlanError where there are more, or where VLANs are renamed: then a tagged frame
    of a host is not what its untagged frames become, and there is nothing to teach.
    """
    if assignment != "fixed":
        raise PlanError(
            "switches are taught by tagged broadcasts only where a frame keeps its VLAN",
            next_step="use --assignment fixed, or static entries (no --learning)",
        )
    pinned = any(len(held.entry_vlan) for held in state.values())
    taught = [(part, _vlans_of(fabric, part, state)) for part in fabric.by_network]
    entries = sum(len(part.hosts) * len(ids) for part, ids in taught)
    several = len(taught) > 1
    for switch in fabric.switches:
        platform = platforms.load(switch.model)
        if entries > platform.mac_table:
            vlans = sum(len(ids) for _, ids in taught)
            room = f"{entries} of {len(taught)} networks" if several else f"{platform.mac_table // vlans} hosts"
            raise PlanError(
                f"learning fills a {platform.title}'s {platform.mac_table} MAC addresses with {room} in {vlans} VLANs",
                f"{switch.name} would have to learn {len(fabric.hosts)} hosts",
                "use static entries (no --learning)",
            )
    tagged = {
        (script := f"learning-{network}-tagged.sh"): TAGGED.format(
            name=f"network {network} of fabric {fabric.name}", vlan=ids[0], script=script, port="eth0"
        )
        for network, (part, ids) in zip(fabric.networks, taught, strict=True)
        if any(host.tag for host in part.hosts)
    }
    return tagged | {
        f"learning-{network}.sh" if several else "learning.sh": LEARNING.format(
            name=f"network {network} of fabric {fabric.name}" if several else f"fabric {fabric.name}",
            vlans=", ".join(map(str, ids)) if several else f"{ids[0]} to {ids[-1]}" if ids else "",
            hosts=len(part.hosts),
            count=len(ids),
            entries=len(part.hosts) * len(ids),
            entries_there=WITH_ENTRIES if pinned else WITHOUT_ENTRIES,
            ids=" ".join(map(str, ids)),
            aging=(aging := min((held.aging_seconds for held in state.values()), default=DEFAULT_AGING_SECONDS)),
            half=max(1, aging // 2),
            script=f"learning-{network}.sh" if several else "learning.sh",
            whose=f"host of network {network}" if several else "host",
        )
        for network, (part, ids) in zip(fabric.networks, taught, strict=True)
        if not all(host.tag for host in part.hosts)
    }


def _vlans_of(fabric: Fabric, part: Fabric, state: FabricState) -> list[int]:
    """Return the VLANs of tagloom's that the ports of a network's hosts are in for it, ascending."""
    found: set[int] = set()
    for host in part.hosts:
        if host.tag:
            found.add(host.tag)
            continue
        held = state[fabric.switches[host.switch].name]
        members = held.vlans[held.membership[:, host.port - 1] != Membership.NONE].tolist()
        others = fabric.tagged_hosts.get((host.switch, host.port), {})
        found |= set(members).intersection(held.owned_vlans).difference(others)
    return sorted(found)


def host_pages(build: Build, *, teach: bool = False, sleeping: tuple[str, ...] = ()) -> dict[str, str]:
    """Write what the hosts need, by file name; with `teach`, the script that lets switches learn. Raises PlanError.

    `sleeping` names the hosts whose own ports shall sleep too.
    """
    payloads = {"static-arp.yml": static_arp(build.fabric)} if build.duplicates_allowed else {}
    if sleeping:
        payloads["eee.yml"] = _sleeping(build.fabric.name, sleeping)
    return payloads | (learning(build.fabric, build.state, build.assignment) if teach else {})
