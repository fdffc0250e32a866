"""Carry out configuration lines on a switch the way its own command line does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from tagloom.platforms.grammar import (
    CONFIG,
    EXIT,
    MODE_LINES,
    PORT_LINES,
    VLAN_DATABASE,
    Context,
    ContextKind,
    Grammar,
    Line,
    Node,
)
from tagloom.platforms.switchports import Switchports
from tagloom.records.change import PORT_CELLS, Cell, Value
from tagloom.records.switch_state import (
    DEFAULT_AGING_SECONDS,
    DEFAULT_VLAN,
    DISCARD_PVID,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tagloom.platforms import Platform

UNDERSTOOD_LINES = 1 << 16  # the switches of a fabric say the same lines over and over; bounds what is kept of them
UNDERSTOOD_CHARACTERS = 256
# Cells that the lines of one configuration may write. All ports in all VLANs are 213,000: what goes over that ten times
# is made to take long.
WRITTEN_CELLS = 2_000_000


class OutcomeKind(Enum):
    """What became of a line."""

    DONE = "done"
    CONTEXT = "context"  # the context is another one now
    FOREIGN = "foreign"  # taken, and none of tagloom's business
    LEFT = "left"  # back to privileged exec; the interpreter stands at CONFIG again
    UNKNOWN = "unknown"
    INCOMPLETE = "incomplete"
    REJECTED = "rejected"  # understood, refused, nothing changed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a line and what the switch answers, "" for nothing; several lines are joined by newlines.

    A REJECTED line that would hold if its ports were in another mode has that mode as `waits_for`.
    """

    kind: OutcomeKind
    text: str = ""
    waits_for: PortMode | None = None

    @property
    def accepted(self) -> bool:
        """Return whether the switch took the line."""
        kind = self.kind
        return kind is _DONE_KIND or kind is _CONTEXT_KIND or kind is _LEFT_KIND or kind is _FOREIGN_KIND


# By name of their own: this is asked for every line of every configuration, and an Enum's members are slow to look up.
_DONE_KIND, _CONTEXT_KIND, _LEFT_KIND = OutcomeKind.DONE, OutcomeKind.CONTEXT, OutcomeKind.LEFT
_FOREIGN_KIND = OutcomeKind.FOREIGN
_DONE, _CONTEXT, _LEFT = Outcome(OutcomeKind.DONE), Outcome(OutcomeKind.CONTEXT), Outcome(OutcomeKind.LEFT)
_FOREIGN = Outcome(OutcomeKind.FOREIGN)


class _RefusedError(Exception):
    """Refuse a line with the family's error `name`; in the mode `waits_for` it would hold. Never leaves this module."""

    def __init__(self, name: str, waits_for: PortMode | None = None, **values: object) -> None:
        self.name, self.waits_for, self.values = name, waits_for, values


_JOINS = {
    "join_untagged": Membership.UNTAGGED,
    "join_tagged": Membership.TAGGED,
    "trunk_join": Membership.TAGGED,
}
_ERROR_OF_KIND = {"pvid": "vlan", "seconds": "number", "mbps": "number", "channels": "ports"}


def _done(line: Line) -> Outcome:
    return Outcome(OutcomeKind.DONE, line.done) if line.done else _DONE


class Interpreter:
    """Carry out configuration lines on a SwitchEditor the way the model's own command line does.

    The one reading of each line, shared by the parser of running-configs and the consoles of the virtual rack.
    A line is carried out as a whole or not at all. `context` may be set to move the session. Beside the state, `duplex`
    is what the lines say of it by port ("full" or "half"), `unpinned` the (VLAN, MAC) whose entry ages or is lost,
    `open_trunks` the ports that carry every VLAN there will be, `promised` by port those that are not there yet and
    that it will carry, `unchecked` the ports that take frames whatever port their sender is pinned at, where a family
    asks for a line for that, `unsaid` the ports without a line of their mode, where such ports are trunks: in VLAN 1
    alone they are what access ports are, and lines of access mode wait. `lists_missing` says that trunks take lists of
    VLANs that are not there, as running-configs print them.
    """

    def __init__(self, platform: Platform, editor: SwitchEditor) -> None:
        self.grammar = Grammar.of(platform)
        self.editor = editor
        self.context = CONFIG
        self._cells_left = WRITTEN_CELLS
        self.duplex: dict[int, str] = {}
        self.unpinned: set[tuple[int, int]] = set()
        self.open_trunks: set[int] = set()
        self.promised: dict[int, set[int]] = {}
        self.unchecked: set[int] = set()
        self.unsaid: set[int] = set()
        self.lists_missing = False
        self._switchports = Switchports(editor) if self.grammar.keeps_other_mode else None

    def feed(self, line: str) -> Outcome:
        """Carry out one line, without its newline; a blank line or a comment is carried out by doing nothing."""
        kind = self.context.kind
        known = self.grammar.understood[kind]
        if (meaning := known.get(line)) is not None:
            return self._carry_out(*meaning)
        if not line or line.isspace() or line.lstrip()[0] == self.grammar.session.comment:
            return _DONE
        words = self.grammar.shorten(line).split()
        outcome = self._walk(self.grammar.trees[kind], words, known, line)
        if not outcome.accepted:
            if self.grammar.is_foreign(kind, " ".join(words)):
                return _FOREIGN
            if kind is not ContextKind.CONFIG and (keys := self.grammar.falls_through) != frozenset():
                other = self._walk(self.grammar.trees[ContextKind.CONFIG], words, {}, line, keys)
                return other if other.accepted else outcome
        return outcome

    def _walk(
        self,
        node: Node,
        words: list[str],
        known: dict[str, tuple[Line, list[Any]]],
        typed: str,
        keys: frozenset[str] | None = None,
    ) -> Outcome:
        """Carry out a line by a tree of words; only lines of these `keys`, where there are any."""
        values: list[Any] = []
        for at, word in enumerate(words):
            step = node.words.get(word)
            if step is None:
                if node.value is None:
                    return Outcome(OutcomeKind.UNKNOWN, self._error("unknown", words, at))
                step, text = node.value, word
                if node.kind == "name":  # a name goes on to the end of the line
                    text = typed.split(None, at)[at]
                try:
                    values.append(node.read(text))
                except ValueError:
                    name = _ERROR_OF_KIND.get(node.kind, node.kind)
                    return Outcome(OutcomeKind.REJECTED, self._error(name, words, at))
                if node.kind == "name":
                    node = step
                    break
            node = step
        if node.end is None:
            return Outcome(OutcomeKind.INCOMPLETE, self.grammar.error("incomplete"))
        if keys is not None and node.end.key not in keys:
            return Outcome(OutcomeKind.UNKNOWN, self._error("unknown", words, 0))
        if len(known) < UNDERSTOOD_LINES and len(typed) < UNDERSTOOD_CHARACTERS:
            known[typed] = node.end, values
        return self._carry_out(node.end, values)

    def _carry_out(self, what: Line, values: list[Any]) -> Outcome:
        try:
            handler = self.HANDLERS[what.key]
            if self._switchports is not None:
                handler = self.KEEPING.get(what.key, handler)
            return handler(self, what, values)
        except _RefusedError as refused:
            text = self.grammar.error(refused.name, **refused.values)
            # FASTPATH prints its warning before it looks the VLAN up.
            if what.answer and refused.name.startswith("vlan_missing"):
                text = f"{what.answer}\n\n{text}"
            return Outcome(OutcomeKind.REJECTED, text, refused.waits_for)

    def _error(self, name: str, words: list[str], at: int) -> str:
        return self.grammar.error(name, caret=" " * len(" ".join([*words[:at], ""])))

    # What the lines do. Checks come first, so that a refused line has changed nothing.

    def leave(self, line: Line, _: list[Any]) -> Outcome:
        """Leave one context, or all of them by `end`."""
        inside = self.context.kind is not ContextKind.CONFIG
        self.context = CONFIG
        return _CONTEXT if inside and line is EXIT else _LEFT

    def _enter_vlan_database(self, _: Line, __: list[Any]) -> Outcome:
        self.context = VLAN_DATABASE
        return _CONTEXT

    def _enter_interface(self, _: Line, values: list[Any]) -> Outcome:
        self.context = Context(ContextKind.INTERFACE, ports=values[0])
        return _CONTEXT

    def _enter_interface_vlan(self, _: Line, values: list[Any]) -> Outcome:
        self._need_vlan(values[0], "vlan_missing_access")
        self.context = Context(ContextKind.INTERFACE_VLAN, vlan=values[0])
        return _CONTEXT

    def _create_vlans(self, line: Line, values: list[Any]) -> Outcome:
        vlans: list[int] = values[0]
        self._spend(len(vlans))
        if vlans[-1] > self.grammar.platform.max_vlan_id:
            raise _RefusedError("vlans", caret="")
        for vlan in vlans:
            self.editor.create_vlan(vlan)
            for port in (port for port, promised in self.promised.items() if vlan in promised):
                if self._is(port, PortMode.TRUNK):
                    self.editor.set_member(vlan, port, Membership.TAGGED)
            for port in self.open_trunks:
                self.editor.set_member(vlan, port, Membership.TAGGED)
        if not line.leads_away(len(vlans)):
            return _done(line)
        self.context = Context(ContextKind.INTERFACE_VLAN, vlan=vlans[0]) if len(vlans) == 1 else VLAN_DATABASE
        return Outcome(OutcomeKind.CONTEXT, line.done)

    def _view_vlan(self, line: Line, values: list[Any]) -> Outcome:
        """Enter the block of a VLAN, and make the VLAN if it is not there."""
        return self._create_vlans(replace(line, enters=True), [values])

    def _delete_vlans(self, line: Line, values: list[Any]) -> Outcome:
        if DEFAULT_VLAN in values[0]:
            raise _RefusedError("default_vlan")
        if missing := [vlan for vlan in values[0] if vlan not in self.editor.vlans]:
            raise _RefusedError("vlan_missing_delete", vlans=missing)
        editor = self.editor
        self._spend(len(values[0]) * (editor.ports + len(editor.entries)))
        for vlan in values[0]:
            stranded = [
                p for p, pvid in enumerate(editor.pvid, 1) if pvid == vlan and not self._is(p, PortMode.GENERAL)
            ]
            editor.delete_vlan(vlan)
            for port in stranded:  # an access port returns to VLAN 1 with its PVID (N2000 guide p. 648)
                editor.set_member(DEFAULT_VLAN, port, Membership.UNTAGGED)
        return _done(line)

    def _name_vlan(self, line: Line, values: list[Any]) -> Outcome:
        self._need_vlan(self.context.vlan, "vlan_missing_access")
        self.editor.name_vlan(self.context.vlan, values[0] if values else "")
        return _done(line)

    def _set_mode(self, line: Line, _: list[Any]) -> Outcome:
        """Change the mode; of its VLANs a port keeps what the new mode can hold.

        What the old mode held beyond that is lost, as fake-switches has it; whether a real switch keeps it
        dormant and wakes it later is not known (Netgear's does).
        """
        editor, mode = self.editor, MODE_LINES[line.key]
        self.open_trunks.difference_update(self.context.ports)
        self.unsaid.difference_update(self.context.ports)
        for port in self.context.ports:
            was = editor.mode[port - 1]
            if self.grammar.changes_by_access and {was, mode} == {PortMode.TRUNK, PortMode.GENERAL}:
                raise _RefusedError("not_access")
            if self.grammar.changes_from_defaults and was is not mode and not self._is_plain(port):
                raise _RefusedError("not_default")
        for port in self.context.ports:
            was, editor.mode[port - 1] = editor.mode[port - 1], mode
            if mode in (was, PortMode.GENERAL):
                continue
            native = editor.pvid[port - 1] or DEFAULT_VLAN
            for vlan, members in editor.members.items():
                if vlan != native and (mode is PortMode.ACCESS or members.get(port) is Membership.UNTAGGED):
                    members.pop(port, None)
            editor.set_member(native, port, Membership.UNTAGGED)
            editor.set_pvid(port, native)
            editor.frames[port - 1], editor.ingress_filter[port - 1] = Frames.ALL, True
        return _done(line)

    def _is_plain(self, port: int) -> bool:
        """Return whether a port is in VLAN 1, untagged, and in no other."""
        joined = {vlan: members[port] for vlan, members in self.editor.members.items() if members.get(port)}
        plain = {DEFAULT_VLAN: Membership.UNTAGGED}
        return self.editor.pvid[port - 1] == DEFAULT_VLAN and joined == plain and port not in self.promised

    def _open_trunk(self, line: Line, _: list[Any]) -> Outcome:
        """Make trunks that carry every VLAN there is or will be, until a list says which; a trunk keeps its list."""
        outcome, ports = _done(line), self.context.ports
        fresh = tuple(port for port in ports if not self._is(port, PortMode.TRUNK) or port in self.unsaid)
        if fresh:
            self.context = replace(self.context, ports=fresh)
            self._set_mode(replace(line, key="mode_trunk"), [])
            outcome = self._carry_all(line, [])
            self.context = replace(self.context, ports=ports)
        return outcome

    def _carry_all(self, line: Line, _: list[Any]) -> Outcome:
        self._need_mode(PortMode.TRUNK, "not_trunk")
        self._carry(sorted(self.editor.vlans))
        self._wait_for(set())
        self.open_trunks.update(self.context.ports)
        return _done(line)

    def _carry_others(self, line: Line, values: list[Any]) -> Outcome:
        """Make a trunk carry every VLAN there is or will be, but for those of a list."""
        outcome = self._carry_all(line, [])
        self._carry([vlan for vlan in self.editor.vlans if vlan not in values[0]])
        self._leave_out(values[0])
        return outcome

    def _carry_only(self, line: Line, values: list[Any]) -> Outcome:
        """Make a trunk carry the VLANs of a list and no other; its native VLAN stays in the port."""
        self._need_mode(PortMode.TRUNK, "not_trunk")
        listed = values[0] if values else []
        self._carry([vlan for vlan in listed if vlan in self.editor.vlans])
        self.open_trunks.difference_update(self.context.ports)
        self._wait_for({vlan for vlan in listed if vlan not in self.editor.vlans})
        return _done(line)

    def _begin_lists(self) -> None:
        """Have those of the context's trunks that have no list carry their native VLAN alone: a list is printed."""
        ports = self.context.ports
        self.context = replace(self.context, ports=tuple(port for port in ports if port in self.open_trunks))
        self._carry([])
        self.open_trunks.difference_update(ports)
        self.context = replace(self.context, ports=ports)

    def _wait_for(self, missing: set[int]) -> None:
        """Remember the VLANs that are not there and that the context's ports will carry."""
        for port in self.context.ports:
            self.promised.pop(port, None)
            if missing:
                self.promised[port] = set(missing)

    def _leave_out(self, vlans: list[int]) -> None:
        """Have the context's trunks carry what they carried or will, but for these VLANs."""
        every = range(1, self.grammar.platform.max_vlan_id + 1)
        for port in self.context.ports:
            waiting = self.promised.pop(port, set())
            if port in self.open_trunks:
                self.open_trunks.discard(port)
                waiting = {vlan for vlan in every if vlan not in self.editor.vlans}
            if waiting := waiting.difference(vlans):
                self.promised[port] = waiting

    def _carry(self, vlans: list[int]) -> None:
        """Make the context's trunks tagged members of these VLANs alone, and untagged ones of their native VLAN."""
        editor = self.editor
        self._spend(len(editor.vlans) * len(self.context.ports))
        for port in self.context.ports:
            for vlan in editor.vlans:
                if vlan != editor.pvid[port - 1]:
                    editor.set_member(vlan, port, Membership.TAGGED if vlan in vlans else Membership.NONE)

    def _link_trunk(self, line: Line, _: list[Any]) -> Outcome:
        """Make a trunk that carries VLAN 1, until it is permitted others."""
        return self._set_mode(replace(line, key="mode_trunk"), [])

    def _permit(self, line: Line, values: list[Any]) -> Outcome:
        """Have trunks carry VLANs, or no longer; those that are not there yet are carried once they are."""
        self._need_mode(PortMode.TRUNK, "not_trunk")
        self._spend(len(values[0]) * len(self.context.ports))
        editor, permitted = self.editor, line.key == "trunk_permit"
        known = [vlan for vlan in values[0] if vlan in editor.vlans]
        self._promise(values[0], permitted=permitted)
        for port in self.context.ports:
            for vlan in known:
                carried = Membership.UNTAGGED if vlan == editor.pvid[port - 1] else Membership.TAGGED
                editor.set_member(vlan, port, carried if permitted else Membership.NONE)
        return _done(line)

    def _promise(self, vlans: list[int], *, permitted: bool) -> None:
        """Remember which VLANs that are not there the context's ports will carry, or no longer."""
        missing = {vlan for vlan in vlans if vlan not in self.editor.vlans}
        for port in self.context.ports:
            promised = self.promised.pop(port, set()).difference(vlans) | (missing if permitted else set())
            if promised:
                self.promised[port] = promised

    def _set_trunk_pvid(self, line: Line, values: list[Any]) -> Outcome:
        """Change which of its VLANs a trunk carries untagged; it is in no other by that."""
        self._need_mode(PortMode.TRUNK, "not_trunk")
        vlan = values[0] if values else DEFAULT_VLAN
        self._need_vlan(vlan, "vlan_missing_pvid")
        members = self.editor.members
        for port in self.context.ports:
            before = self.editor.pvid[port - 1]
            self.editor.set_pvid(port, vlan)
            for each, how in ((before, Membership.TAGGED), (vlan, Membership.UNTAGGED)):
                if members.get(each, {}).get(port):
                    self.editor.set_member(each, port, how)
        return _done(line)

    def _check_sources(self, line: Line, _: list[Any]) -> Outcome:
        """Have ports drop frames whose sender is pinned at another port, or take them."""
        everywhere = line.context is ContextKind.CONFIG
        ports = range(1, self.editor.ports + 1) if everywhere else self.context.ports
        if line.key.startswith("source_unchecked"):
            self.unchecked.update(ports)
        else:
            self.unchecked.difference_update(ports)
        return _done(line)

    def _set_native(self, line: Line, values: list[Any]) -> Outcome:
        access = not line.key.startswith("trunk_native")
        self._need_mode(PortMode.ACCESS if access else PortMode.TRUNK, "not_access" if access else "not_trunk")
        untagged = not line.key.endswith("_none")
        vlan = DISCARD_PVID if not untagged else values[0] if values else DEFAULT_VLAN
        if untagged:
            self._need_vlan(vlan, "vlan_missing_access")
        for port in self.context.ports:
            if self.editor.pvid[port - 1] in self.editor.vlans:
                left = Membership.TAGGED if port in self.open_trunks else Membership.NONE
                self.editor.set_member(self.editor.pvid[port - 1], port, left)
            if untagged:
                self.editor.set_member(vlan, port, Membership.UNTAGGED)
            self.editor.set_pvid(port, vlan)
        return _done(line)

    def _set_members(self, line: Line, values: list[Any]) -> Outcome:
        trunk = line.key.startswith("trunk")
        self._need_mode(*((PortMode.TRUNK, "not_trunk") if trunk else (PortMode.GENERAL, "not_general")))
        vlans: list[int] = values[0] if values else [DEFAULT_VLAN]
        self._spend(len(vlans) * len(self.context.ports))
        known = self.editor.members
        lists_missing = trunk and self.lists_missing
        if line.key == "trunk_leave":
            self._leave_out(vlans)
        elif self.grammar.promises_vlans or lists_missing:
            self._promise(vlans, permitted=line.key in _JOINS)
        if missing := [vlan for vlan in vlans if vlan not in known]:
            if not (line.tolerates_missing or lists_missing):
                raise _RefusedError("vlan_missing", vlans=missing)
            vlans = [vlan for vlan in vlans if vlan in known]
        how = _JOINS.get(line.key, Membership.NONE)
        if line.key == "trunk_join" and self.grammar.lists_by_adding:
            self._begin_lists()
        for port in self.context.ports:
            for vlan in vlans:
                if not (trunk and vlan == self.editor.pvid[port - 1]):  # a trunk's native VLAN stays untagged
                    self.editor.set_member(vlan, port, how)
        return _done(line)

    def _set_pvid(self, line: Line, values: list[Any]) -> Outcome:
        self._need_mode(PortMode.GENERAL, "not_general_pvid")
        vlan = values[0] if values else DEFAULT_VLAN
        if vlan != DISCARD_PVID:
            self._need_vlan(vlan, "vlan_missing_pvid")
        for port in self.context.ports:
            self.editor.set_pvid(port, vlan)
        return _done(line)

    def _set_port_cell(self, line: Line, _: list[Any]) -> Outcome:
        cell, value = PORT_LINES[line.key]
        if cell in (Cell.FRAMES, Cell.INGRESS_FILTER):
            self._need_mode(PortMode.GENERAL, "not_general")
        column: list[Value] = getattr(self.editor, PORT_CELLS[cell][0])
        ports = self.context.ports if line.context is ContextKind.INTERFACE else range(1, self.editor.ports + 1)
        for port in ports:
            column[port - 1] = value
            if cell is Cell.NEGOTIATION and not self.grammar.has("duplex"):  # one line forces both
                self.duplex.pop(port, None)
                if not value:
                    self.duplex[port] = "full"
        return _done(line)

    def _set_speed(self, line: Line, values: list[Any]) -> Outcome:
        best = self.grammar.platform.port_mbps
        if any(0 < best[port - 1] < values[0] for port in self.context.ports if port <= len(best)):
            raise _RefusedError("number", caret="")
        for port in self.context.ports:
            self.editor.speed_mbps[port - 1] = values[0]
        return _done(line)

    def _set_duplex(self, line: Line, _: list[Any]) -> Outcome:
        for port in self.context.ports:
            if line.key == "no_duplex":
                self.duplex.pop(port, None)
            else:
                self.duplex[port] = "half" if line.key == "duplex_half" else "full"
        return _done(line)

    def _hold_nothing(self, line: Line, _: list[Any]) -> Outcome:
        return _done(line)

    def _set_spanning_tree(self, line: Line, _: list[Any]) -> Outcome:
        self.editor.spanning_tree = line.key == "spanning_tree_on"
        return _done(line)

    def _set_bpdu_filtering(self, line: Line, _: list[Any]) -> Outcome:
        self.editor.bpdu_filtering = line.key == "bpdu_filter_on"
        return _done(line)

    def _set_aging(self, line: Line, values: list[Any]) -> Outcome:
        self.editor.aging_seconds = values[0] if values else DEFAULT_AGING_SECONDS
        return _done(line)

    def _set_entry(self, line: Line, values: list[Any]) -> Outcome:
        vlan = self._vlan_of(line, values)
        ports = next((value for value in values if isinstance(value, tuple)), self.context.ports)
        if vlan not in self.editor.vlans:
            raise _RefusedError("vlan_missing_access", vlans=[vlan])
        # The line replaces what the address was pinned to: a moved host is one line.
        self.editor.entries[vlan, values[0]] = ports
        if self.unpinned:
            self.unpinned.discard((vlan, values[0]))
        return _done(line)

    def _set_unpinned(self, line: Line, values: list[Any]) -> Outcome:
        """Replace an address's entry by one that does not last, which pins nothing."""
        vlan = self._vlan_of(line, values)
        self._need_vlan(vlan, "vlan_missing_access")
        self.editor.entries.pop((vlan, values[0]), None)
        self.unpinned.add((vlan, values[0]))
        return _done(line)

    def _drop_entry(self, line: Line, values: list[Any]) -> Outcome:
        vlan = self._vlan_of(line, values)
        self._need_vlan(vlan, "vlan_missing_access")
        self.editor.set_entry(vlan, values[0], ())
        self.unpinned.discard((vlan, values[0]))
        return _done(line)

    def _vlan_of(self, line: Line, values: list[Any]) -> int:
        """Return the VLAN of an entry: that of the block it stands in, or the one it names itself."""
        if line.context is ContextKind.INTERFACE_VLAN:
            return self.context.vlan
        return next(int(value) for value in values[1:] if isinstance(value, int))

    def _set_lag(self, line: Line, values: list[Any]) -> Outcome:
        """Take ports into a port-channel, or out of theirs.

        A port keeps its own VLAN settings, which count again once it has left; whether a real switch takes lines for
        them meanwhile is not known.
        """
        channels = values[0] if values else (0,)
        if len(channels) != 1 or max(self.context.ports) > self.grammar.platform.physical_ports:
            raise _RefusedError("ports")
        for port in self.context.ports:
            self.editor.lag[port - 1] = channels[0]
        return _done(line)

    def _sleep_nowhere(self, line: Line, _: list[Any]) -> Outcome:
        self.editor.eee = [False] * self.editor.ports
        return _done(line)

    # Families whose ports keep what is set for the mode that they are not in.

    def _set_switchports(self, line: Line, values: list[Any]) -> Outcome:
        """Set what a line says of one mode of the context's ports, and put them into the VLANs that follow from it."""
        assert self._switchports is not None  # noqa: S101 - KEEPING is looked at where it is there
        self._spend(len(self.editor.vlans) * len(self.context.ports))
        for port in self.context.ports:
            switchport = self._switchports.of(port)
            match line.key:
                case "routing" | "switching":
                    switchport.routes = line.key == "routing"
                case "mode_access" | "mode_general":
                    switchport.trunk = line.key == "mode_general"
                case "access_vlan" | "no_access_vlan":
                    switchport.access = values[0] if values else DEFAULT_VLAN
                case "pvid" | "no_pvid":
                    switchport.native = values[0] if values else DEFAULT_VLAN
                case "list_none" | "list_only":
                    switchport.allowed = set(values[0]) if values else set()
                case "list_all":
                    switchport.allowed = None
                case "join_tagged":
                    switchport.allowed = None if switchport.allowed is None else switchport.allowed | set(values[0])
                case _:  # leave
                    every = range(1, self.grammar.platform.max_vlan_id + 1)
                    switchport.allowed = (set(every) if switchport.allowed is None else switchport.allowed) - set(
                        values[0]
                    )
        self._settle_ports(self.context.ports)
        return _done(line)

    def routes(self, port: int) -> bool:
        """Return whether a port is told to route, and is in no VLAN by that."""
        return (
            self._switchports is not None and port in self._switchports.settings and self._switchports.of(port).routes
        )

    def _settle_ports(self, ports: Iterable[int]) -> None:
        """Put ports into the VLANs of their settings, and note those that carry VLANs that are not there."""
        assert self._switchports is not None  # noqa: S101 - as above
        self._switchports.settle(ports)
        for port in ports:
            self.open_trunks.discard(port)
            self.promised.pop(port, None)
            if self._switchports.is_open(port):
                self.open_trunks.add(port)
            elif missing := self._switchports.missing(port):
                self.promised[port] = missing

    def _create_and_settle(self, line: Line, values: list[Any]) -> Outcome:
        assert self._switchports is not None  # noqa: S101 - as above
        outcome = self._create_vlans(line, values)
        self._settle_ports({port for vlan in values[0] for port in self._switchports.named(vlan)})
        return outcome

    def _delete_and_settle(self, line: Line, values: list[Any]) -> Outcome:
        assert self._switchports is not None  # noqa: S101 - as above
        named = {port for vlan in values[0] for port in self._switchports.named(vlan)}
        for port in named:
            self._switchports.of(port)
        outcome = self._delete_vlans(line, values)
        self._settle_ports(named)
        return outcome

    def _spend(self, cells: int) -> None:
        """Refuse a line that writes more cells than are left to its configuration."""
        if cells > self._cells_left:
            raise _RefusedError("number", caret="")
        self._cells_left -= cells

    def _is(self, port: int, mode: PortMode) -> bool:
        return self.editor.mode[port - 1] is mode

    def _need_mode(self, mode: PortMode, error: str) -> None:
        if mode is PortMode.TRUNK:
            for port in self.unsaid.intersection(self.context.ports):
                self.editor.mode[port - 1] = mode
        wrong = [port for port in self.context.ports if port in self.unsaid or not self._is(port, mode)]
        if mode is PortMode.TRUNK:
            wrong = [port for port in wrong if not self._is(port, mode)]
        if wrong:
            raise _RefusedError(error, mode if len(wrong) == len(self.context.ports) else None)

    def _need_vlan(self, vlan: int, error: str) -> None:
        if vlan not in self.editor.vlans:
            raise _RefusedError(error, vlans=[vlan])

    HANDLERS: ClassVar[dict[str, Callable[[Interpreter, Line, list[Any]], Outcome]]] = {
        "exit": leave,
        "end": leave,
        **dict.fromkeys(PORT_LINES, _set_port_cell),
        **dict.fromkeys(MODE_LINES, _set_mode),
        "vlan_database": _enter_vlan_database,
        "interface": _enter_interface,
        "interface_range": _enter_interface,
        "channel": _enter_interface,
        "channel_range": _enter_interface,
        "interface_vlan": _enter_interface_vlan,
        "vlan_create": _create_vlans,
        "vlan_view": _view_vlan,
        "vlan_delete": _delete_vlans,
        "vlan_name": _name_vlan,
        "no_vlan_name": _name_vlan,
        **dict.fromkeys(("list_none", "list_only", "list_all", "routing"), _set_switchports),
        "trunk_open": _open_trunk,
        "trunk_all": _carry_all,
        "trunk_only": _carry_only,
        "trunk_none": _carry_only,
        "trunk_except": _carry_others,
        "trunk_link": _link_trunk,
        "trunk_permit": _permit,
        "trunk_forbid": _permit,
        "trunk_permit_all": _carry_all,
        "trunk_pvid": _set_trunk_pvid,
        "source_unchecked": _check_sources,
        "source_unchecked_everywhere": _check_sources,
        "source_checked": _check_sources,
        "source_checked_everywhere": _check_sources,
        "access_vlan": _set_native,
        "no_access_vlan": _set_native,
        "access_none": _set_native,
        "trunk_native": _set_native,
        "trunk_native_none": _set_native,
        "trunk_join": _set_members,
        "trunk_leave": _set_members,
        "join_untagged": _set_members,
        "join_tagged": _set_members,
        "leave": _set_members,
        "leave_default": _set_members,
        "pvid": _set_pvid,
        "no_pvid": _set_pvid,
        "speed": _set_speed,
        "duplex": _set_duplex,
        "duplex_half": _set_duplex,
        "no_duplex": _set_duplex,
        "eee_any": _hold_nothing,
        "switching": _hold_nothing,
        "eee_none": _sleep_nowhere,
        "lag_join": _set_lag,
        "lag_leave": _set_lag,
        "spanning_tree_on": _set_spanning_tree,
        "spanning_tree_off": _set_spanning_tree,
        "bpdu_filter_on": _set_bpdu_filtering,
        "bpdu_filter_off": _set_bpdu_filtering,
        "aging": _set_aging,
        "no_aging": _set_aging,
        "entry": _set_entry,
        "entry_channel": _set_entry,
        "entry_here": _set_entry,
        "entry_unpinned": _set_unpinned,
        "entry_channel_unpinned": _set_unpinned,
        "no_entry": _drop_entry,
    }
    KEEPING: ClassVar[dict[str, Callable[[Interpreter, Line, list[Any]], Outcome]]] = {
        **dict.fromkeys(
            (
                *("mode_access", "mode_general", "access_vlan", "no_access_vlan", "pvid", "no_pvid"),
                *("list_none", "list_only", "list_all", "join_tagged", "leave", "switching"),
            ),
            _set_switchports,
        ),
        "vlan_create": _create_and_settle,
        "vlan_delete": _delete_and_settle,
    }
