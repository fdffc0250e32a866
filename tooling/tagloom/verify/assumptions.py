"""List what proofs assume of switches and hosts: why, how likely it holds, and how to check it on a real switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.records.switch_state import BROADCAST, FlowControl, Membership

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState

ANY = "any"  # the family of all that are not named


@dataclass(frozen=True, eq=False)
class Situation:
    """A proven fabric, on which an assumption may depend."""

    fabric: Fabric
    state: FabricState
    proof: Findings

    @property
    def families(self) -> tuple[str, ...]:
        """Return the command line families of the live switches, ascending; "" for a model without one."""
        return tuple(sorted({platforms.of(switch).grammar for switch in self.fabric.live}))


@dataclass(frozen=True)
class Assumption:
    """One assumption of the proofs.

    likelihood  how likely it holds and by what source, by command line family, ANY for all others; the marks are those
                of the grammars: confirmed, confirmed-kin (of a relative), likely, unproven (nobody has tried)
    applies     whether the proof of a fabric needs it; None if only rollouts do
    """

    name: str
    why: str
    likelihood: dict[str, str]
    check: str
    applies: Callable[[Situation], bool] | None

    def to_json(self, families: tuple[str, ...]) -> dict[str, str]:
        """Return the assumption with the keys of the command line, for these families."""
        remarks = dict.fromkeys(self.likelihood.get(name, self.likelihood.get(ANY, "")) for name in families)
        return {"name": self.name, "why": self.why, "likelihood": "; ".join(remarks), "check": self.check}


def assumptions(fabric: Fabric, state: FabricState, proof: Findings) -> list[dict[str, str]]:
    """Return the assumptions that the proof of a fabric rests on, with the keys of the command line."""
    here = Situation(fabric, state, proof)
    return [each.to_json(here.families) for each in ASSUMPTIONS if each.applies is not None and each.applies(here)]


def as_markdown() -> str:
    """Return the text of docs/assumptions.md, the whole table."""
    lines = [PAGE_HEAD.strip(), ""]
    for each in ASSUMPTIONS:
        scope = "Rollouts need it." if each.applies is None else ""
        lines += [f"## {each.name[0].upper()}{each.name[1:]}", "", f"{each.why} {scope}".strip(), ""]
        lines += [
            f"- {'all families' if name == ANY else name}: {remarks}" for name, remarks in each.likelihood.items()
        ]
        lines += ["", f"Check: {each.check}", ""]
    return "\n".join(lines)


def _always(_: Situation) -> bool:
    return True


def _entries(here: Situation) -> bool:
    return any(len(held.entry_vlan) for held in here.state.values())


def _group_entries(here: Situation) -> bool:
    return any(bool(np.any(held.entry_mac == BROADCAST)) for held in here.state.values())


def _overlapping(here: Situation) -> bool:
    untagged = (np.sum(held.membership == Membership.UNTAGGED, axis=0) for held in here.state.values())
    return any(bool(np.any(count > 1)) for count in untagged)


def _pausing(here: Situation) -> bool:
    return any(bool(np.any(held.flow_control != FlowControl.OFF)) for held in here.state.values())


PAGE_HEAD = """
# What the proofs assume

Written from `tooling/tagloom/verify/assumptions.py`; a test compares the two. A proof says what switches and hosts do
that keep to these assumptions. `tagloom plan --assumptions` and `tagloom verify --assumptions` print those that a
given fabric rests on (with `--json`: the key `assumptions`).

Marks, as in the grammars: confirmed (a real switch of the family or its manual shows it), confirmed-kin (a relative
does), likely (nothing found speaks against it), unproven (nobody has tried). None of this was measured on real
PowerConnect switches yet: try the checks on one spare switch of each model before the first push.
"""

ASSUMPTIONS: tuple[Assumption, ...] = (
    Assumption(
        "the cables are those of the fabric file",
        "Frames are followed along the links of the file. A cable in another port, or one more, is another network.",
        {ANY: "as good as the file"},
        "tagloom discover --start ADDRESS --against FABRIC compares the file with LLDP neighbours",
        _always,
    ),
    Assumption(
        "switches hold what the texts say",
        "Proven are texts. A line that was typed later, or one that a switch refused, is in no text.",
        {ANY: "as good as the last read-back: apply reads every switch back after each wave"},
        "tagloom apply BUILD --check reads all switches and compares",
        _always,
    ),
    Assumption(
        "switches learn by VLAN and address",
        "The entries of one host differ from VLAN to VLAN (independent VLAN learning, IEEE 802.1Q-2018, 8.8.8). "
        "A switch with one table for all VLANs sends 60 % of the pairs of a mesh the wrong way.",
        {
            "fastpath": "confirmed-kin: N-series CLI reference, 'The switches implement independent VLAN learning'",
            "os6": "confirmed: N-series CLI reference, 'The switches implement independent VLAN learning'",
            "linux-bridge": "confirmed: measured on Linux 6.1, the table's key is VLAN and address",
            "routeros": "confirmed: manual, vlan-filtering=yes enables independent VLAN learning",
            ANY: "likely: tables of real switches list one address in several VLANs",
        },
        "enter one address in two VLANs at different ports, then show the address table: both rows must stand",
        _always,
    ),
    Assumption(
        "static entries stay where they are when their address is heard elsewhere",
        "Frames follow static entries. Broadcasts and frames under way bring a host's address to other ports of the "
        "same VLAN; an entry that moved there would send its frames back (IEEE 802.1Q-2018, 8.7: no learning over a "
        "static entry).",
        {
            "linux-bridge": "confirmed: measured on Linux 6.1 for 'static sticky' (plain 'static' moves)",
            "routeros": "does not apply: no port learns under pinned, the only assignment there",
            "eos": "does not apply: on a tree, the only shape there, an address is heard where its entry points alone",
            ANY: "likely: the standard asks for it, and entries are written permanent; not measured",
        },
        "send a frame with a pinned address as its source into another port of that VLAN, then show the address table",
        _entries,
    ),
    Assumption(
        "frames pass whatever port their sender's entry names",
        "In its own VLANs a host's address may be pinned at another port than the one its frames come by. A switch "
        "that looks up senders as well drops them: ExtremeXOS does so (its guide says it), HPE's and H3C's Comware "
        "unless it is told otherwise, and Huawei's always. There, and where nobody knows (Arista's EOS), it is proven "
        "that no such frame meets it.",
        {
            "comware": "confirmed in documents, not measured: 'undo mac-address static source-check enable' on every "
            "port, which a text must have; a model that refuses the line ends the push",
            "huawei": "does not apply: its guides say that such frames are dropped; it is proven of every state "
            "and every line that there are none",
            "eos": "does not apply: what it does was not found; it is proven of every state and every line that there "
            "are none",
            "linux-bridge": "likely: a sticky entry stays and the frame goes on (net/bridge/br_fdb.c)",
            "routeros": "likely: where such frames shall be dropped the manual has an ACL rule do so (CRS3xx)",
            ANY: "likely: permanent entries; 'secure' ones drop, and tagloom writes none",
        },
        "pin an address at one port, send from it into another port of that VLAN: the frame must arrive",
        _entries,
    ),
    Assumption(
        "a port may be an untagged member of several VLANs",
        "A host sends in one VLAN and hears from many, all untagged (general mode with overlapping untagged VLANs).",
        {
            "ros": "confirmed in documents, not measured: 5548P user guide p. 471, SG220 transcript",
            "ros4": "confirmed in documents, not measured: 5548P user guide p. 471",
            "sg300": "confirmed-kin: SG200 administration guide p. 99, a general port untagged in VLANs 1, 10 and 20",
            "cbs350": "confirmed-kin: SG200 administration guide p. 99, a general port untagged in VLANs 1, 10 and 20",
            "fastpath": "confirmed in documents, not measured: 'General Mode Untagged VLANs' of an M6348",
            "os6": "confirmed in documents, not measured: 'General Mode Untagged VLANs' of an M6348",
            "linux-bridge": "confirmed: measured on Linux 6.1",
            "comware": "confirmed in documents, not measured: H3C's private VLAN example, "
            "'port hybrid vlan 10 201 to 202 untagged'",
            "huawei": "confirmed in documents, not measured: 'port hybrid untagged vlan 10 20' in public "
            "configurations",
            ANY: "likely",
        },
        "two hosts with different PVIDs on one switch, each the other's untagged member: ping both ways",
        _overlapping,
    ),
    Assumption(
        "entries for the broadcast address narrow floods",
        "Where flooding alone would repeat broadcasts, static entries for ff:ff:ff:ff:ff:ff with several ports keep "
        "them on one tree. A switch that refuses or ignores one repeats broadcasts; it makes no storm.",
        {ANY: "unproven: no transcript shows such an entry; if one is refused, plan with --static-arp"},
        "enter one with two ports, broadcast from a third host, and count at all hosts of the VLAN",
        _group_entries,
    ),
    Assumption(
        "hosts send untagged frames only",
        "Frames that hosts tag themselves go along the VLANs of other sources, and here those close a dependency cycle "
        "or a loop. The ports of these hosts take such frames, because the family has no line against it.",
        {ANY: "holds unless a host has VLAN interfaces, a hypervisor with tags, or an owner with bad intentions"},
        "tcpdump -e vlan on every host; no VLAN interfaces (ip -d link show type vlan)",
        lambda here: not here.proof.tagged_frames_safe,
    ),
    Assumption(
        "ports that take untagged frames only drop the tagged ones",
        "Frames that hosts tag themselves would go along the VLANs of other sources; 'acceptable-frame-type "
        "untagged-only' on the hosts' ports keeps them out.",
        {ANY: "confirmed-kin: SG300 administration guide p. 191, in general mode"},
        "send a tagged frame of a VLAN of that port from a host; no other host may hear it",
        lambda here: (
            any(platforms.of(switch).refuses_tagged for switch in here.fabric.live)
            and not here.proof.tagged_frames_ports
        ),
    ),
    Assumption(
        "hosts have the addresses of the fabric file and stay at their ports",
        "Entries name addresses at ports, one or several each. Frames to any other address are flooded, frames to a "
        "host that moved are lost.",
        {ANY: "holds for cluster nodes; for virtual machines and BMCs as good as the file; not for hosts with bonds"},
        "show the address table: at each host's port the addresses of the fabric file and no other",
        _always,
    ),
    Assumption(
        "multicast is flooded like broadcasts",
        "IPv6 neighbour discovery and DHCP go to group addresses or to all. Without IGMP and MLD snooping they flood "
        "in their sender's VLAN, as the proof of floods follows them: to every host, once where a plan brings "
        "broadcasts by flooding alone, perhaps several times where entries for the broadcast address or static ARP "
        "stand in.",
        {
            "linux-bridge": "likely: snooping is on by default, and floods as long as nobody is a querier",
            "routeros": "confirmed: manual, igmp-snooping is off by default; tagloom writes it",
            ANY: "likely: snooping is off in factory default; what is joined elsewhere is told nobody",
        },
        "show ip igmp snooping, show ipv6 mld snooping: disabled; two hosts: ping6 each other's link-local address",
        _always,
    ),
    Assumption(
        "nothing joins two uplinks, or an uplink and a port of the fabric, outside",
        "Frames to addresses that nobody knows leave by every uplink. Were two of them one network outside, all that "
        "floods would come in again by the other, for ever: redundant uplinks are one aggregated link, or one is shut.",
        {ANY: "as good as the cabling of what is plugged in there; spanning tree of others is not heard"},
        "shut all uplinks but one: nothing outside is cut off from anything else there",
        lambda here: here.proof.uplinks > 0,
    ),
    Assumption(
        "with spanning tree off, a switch blocks no port and lets no BPDU start one elsewhere",
        "The proof counts on every port that is enabled. BPDUs are dropped, or flooded in a VLAN like any group "
        "address, which the proof of floods covers. Where it stays on for ports outside (spanning_tree: outside), a "
        "port that is taken out of it drops BPDUs, and passes none on to ports that are in it.",
        {
            "ros": "confirmed on kin: 3448 and SG300 flood BPDUs where spanning tree is off, on the switch or a port, "
            "unless told 'spanning-tree bpdu filtering'",
            "ros4": "likely: as SG300",
            "sg300": "confirmed: flooded where spanning tree is off, unless told 'spanning-tree bpdu filtering'",
            "cbs350": "likely: as SG300",
            "fastpath": "likely: dropped; 'spanning-tree bpdu flooding' is a line of its own (8100, N-series guides)",
            "os6": "likely: dropped; 'spanning-tree bpdu flooding' is a line of its own (8100 and N-series guides)",
            "linux-bridge": "confirmed: flooded while stp_state is 0 (net/bridge/br_input.c)",
            "routeros": "likely: flooded while protocol-mode=none",
            "comware": "likely: flooded; 'bpdu-drop any' on a port is a line of its own, which tagloom does not send",
            "eos": "likely: flooded where 'spanning-tree mode none'; no page that says it was read",
            "huawei": "confirmed in documents, not measured: 'an interface discards BPDUs by default' of S5720-EI, "
            "S5731 and others (command reference, bpdu)",
            ANY: "unproven",
        },
        "show spanning-tree: disabled, all fabric ports forwarding; no switch outside that runs one on these ports",
        _always,
    ),
    Assumption(
        "PAUSE holds back one cable by the buffer of one port",
        "With IEEE 802.3x, a frame waits for the next channel in the buffer of the port it came in by, and only what "
        "comes in there is held back (Dally and Seitz 1987). If all ports share one pool, a full pool holds back every "
        "port, and switches can wait for each other whatever the paths are.",
        {ANY: "unproven: no data sheet of these chips was found; many reserve some buffer per port and share the rest"},
        "flow control on: fill both directions between two switches towards slow hosts for minutes; after that every "
        "other pair must still ping",
        _pausing,
    ),
    Assumption(
        "a port whose flow control is off sends no PAUSE",
        "Frames of VLANs of others may close a dependency cycle with the fabric's own, in a state or between two lines "
        "of a wave. If the end of one of its channels sends no PAUSE, frames are dropped there, and none waits in a "
        "circle.",
        {ANY: "likely: without PAUSE at one end of a cable it is off at both (IEEE 802.3, table 28B-3); not measured"},
        "show interfaces status: flow control off there; under full load no PAUSE frame is counted at the far end",
        lambda here: bool(here.proof.foreign_cycle) and here.proof.deadlock_free,
    ),
    Assumption(
        "a port-channel spreads flows, not frames, and never sends back what came in",
        "Members of an aggregated link are one link: each flow takes one cable, and what comes in by one cable leaves "
        "by none of them.",
        {
            "linux-bridge": "does not apply: tagloom binds no ports there",
            "routeros": "does not apply: tagloom binds no ports there",
            "comware": "does not apply: tagloom binds no ports there",
            "huawei": "does not apply: tagloom binds no ports there",
            "eos": "does not apply: tagloom binds no ports there",
            ANY: "likely: IEEE 802.1AX-2020, 6.2; frames are spread by addresses",
        },
        "two hosts over the port-channel: no duplicates, and none when one cable is pulled at one end",
        lambda here: any(link.members for link in here.fabric.links),
    ),
    Assumption(
        "the management VLAN goes along the declared links and nowhere else",
        "Switches are reached over the fabric's own links; somebody else made that VLAN, and texts of tagloom do not "
        "hold it. No static entry of it pins the controller's or a switch's own address elsewhere: the fabric file "
        "names neither.",
        {ANY: "as good as the 'management' part of the fabric file"},
        "show vlan on every switch: the VLAN's members are the declared links and the controller's port",
        lambda here: here.fabric.management is not None,
    ),
    Assumption(
        "hosts know each other's addresses before any traffic",
        "Broadcasts may come several times here; hosts with static ARP send none.",
        {ANY: "holds after the role tagloom_static_arp ran, until a host restarts"},
        "ip neigh show nud permanent on every host lists all others",
        lambda here: here.proof.duplicates_allowed,
    ),
    Assumption(
        "a line is in force when the prompt comes back",
        "A wave ends when every switch was read back; frames are taken to meet what was read.",
        {ANY: "likely; not measured. A line whose effect comes later is met by frames of the next wave"},
        "change a PVID under a running ping with time stamps: no frame in the old VLAN after the prompt",
        None,
    ),
    Assumption(
        "a line changes one thing at once",
        "Members, PVIDs and entries change between two frames, never half.",
        {ANY: "likely; not measured"},
        "replace an entry while a flow runs to it; count frames at a third host, which may hear none",
        None,
    ),
    Assumption(
        "frames of the old configuration have left after the drain time",
        "Before old VLANs go, no frame may be under way in them. A wait has a bound only if outputs serve their inputs "
        "in turn: (Q / R) times the sum of f^k over the hops, with buffer Q, rate R, and f inputs for each output.",
        {ANY: "likely for 5 s: 128 kB at 1 Gb/s with 4 inputs takes 0.35 s over 4 hops, 5.6 s over 6"},
        "counters of the old VLAN's ports stand still after the wait, under full load with flow control on",
        None,
    ),
    Assumption(
        "hosts keep to untagged frames during a rollout",
        "Waves are proven for frames that hosts send untagged. Ports that refuse tagged frames do so from the wave on "
        "that sets the line, so between an older build and this one they may still come in.",
        {ANY: "as 'hosts send untagged frames only'"},
        "as there",
        None,
    ),
)
