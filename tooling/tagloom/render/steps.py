"""Turn changes into lines, each with the context it belongs in, and lay lines out in blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from tagloom.errors import PlanError, UnwritableError
from tagloom.platforms.grammar import CONFIG, MODE_LINES, PORT_LINES, VLAN_DATABASE, Context, ContextKind
from tagloom.records.change import PORT_CELLS, Cell
from tagloom.records.switch_state import DEFAULT_VLAN, DISCARD_PVID, Frames, Membership, PortMode
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tagloom.platforms.grammar import Grammar
    from tagloom.records.change import Change, Value
    from tagloom.records.switch_state import SwitchState

LONGEST_LINE = 149  # characters: what the consoles of old firmware take without wrapping is not recorded; be modest

Block = tuple[str, ...]  # lines that lead from CONFIG back to CONFIG
_Line = tuple[str, "tuple[Change, ...]"]  # a line, and the cells it changes

_STEP_OF = {cell_and_value: key for key, cell_and_value in PORT_LINES.items()}
_STEP_OF_MODE = {mode: key for key, mode in MODE_LINES.items()}
_LINE_OF = {
    "leave_default": "leave",
    "join_default": "join_untagged",
}  # steps of VLAN 1, by the line they are written by
_GENERAL_ONLY = {Cell.FRAMES: Frames.ALL, Cell.INGRESS_FILTER: True}  # with what a port in any other mode has
_PLAIN_CELLS = PORT_CELLS.keys() - {Cell.MODE, Cell.PVID, Cell.LAG, Cell.FLOODING, Cell.LEARNING}


@dataclass(frozen=True, slots=True)
class Step:
    """A line: the step of the grammar's order it belongs to, its context (one port at a time), its text.

    `changes` are the cells it changes. Static entries stand together: their text is many lines, their changes left out.
    """

    name: str
    context: Context
    text: str
    changes: tuple[Change, ...] = ()


@dataclass(slots=True)
class _Changes:
    """Changes by cell, with what they say of modes and deletions, and the steps written so far."""

    grammar: Grammar
    cells: dict[Cell, list[Change]]
    modes: dict[int, PortMode]  # after the changes, of the ports that are not in general mode then, or changed it
    deleted: set[int]
    before: SwitchState | None = None
    steps: list[Step] = field(default_factory=list)

    def mode(self, port: int) -> PortMode:
        return self.modes.get(port, PortMode.GENERAL)

    def add(
        self, step: str, context: Context, changes: Iterable[Change] = (), *, line: str = "", **values: Any
    ) -> None:
        key = line or step
        if not self.grammar.has(key):
            raise PlanError(f"{self.grammar.platform.title} has no line for {key}", _where(self.grammar, context))
        self.steps.append(Step(step, context, self.grammar.line(key, **values), tuple(changes)))
        if self.grammar.lines[key].leads_away(len(values.get("vlans", ()))):
            self.steps.append(Step(step, context, self.grammar.session.leave))

    def add_vlans(self, step: str, context: Context, changes: Sequence[Change], *, line: str = "") -> None:
        """Write lines that list the VLANs of `changes`."""
        by_vlan: dict[int, list[Change]] = {}
        for change in changes:
            by_vlan.setdefault(change.vlan, []).append(change)
        key = line or step
        runs = self.grammar.lines[key].runs if key in self.grammar.lines else 0
        for part in fitting(sorted(by_vlan), lambda some: self.grammar.line(key, vlans=some), runs):
            self.add(step, context, chain.from_iterable(by_vlan[vlan] for vlan in part), line=line, vlans=part)

    def refuse(self, port: int) -> None:
        raise outside_general(self.grammar, port, self.mode(port))


def outside_general(grammar: Grammar, port: int, mode: PortMode) -> PlanError:
    """Return the error of a port outside general mode that has settings of that mode."""
    return PlanError(
        "a port outside general mode takes all frames, filters, and is untagged in its PVID alone",
        f"{_where(grammar, _at(port))} in {mode.name.lower()} mode",
        "plan the port in general mode",
    )


def steps_of(grammar: Grammar, changes: Iterable[Change], before: SwitchState | None) -> list[Step]:
    """Write the lines that make these changes, in no particular order.

    Every mode has its own words for membership. `before` tells the modes of ports that keep theirs; without it they
    are taken to be in general mode, as all ports of a fabric are. Memberships and entries of deleted VLANs need no
    line: deletion takes them along. Raises PlanError where the model has no words for a change.
    """
    cells: dict[Cell, list[Change]] = {cell: [] for cell in Cell}
    for change in changes:
        cells[change.cell].append(change)
    kept = enumerate(before.mode.tolist() if before is not None else (), start=1)
    modes = {port: PortMode(mode) for port, mode in kept if mode != PortMode.GENERAL}
    modes.update((change.port, PortMode(_int(change.after))) for change in cells[Cell.MODE])
    deleted = {change.vlan for change in cells[Cell.VLAN] if not change.after}
    todo = _Changes(grammar, cells, modes, deleted, before)
    if grammar.keeps_other_mode:
        _write_remade(todo)
    for write in (_write_vlans, _write_memberships, _write_ports, _write_groups, _write_entries, _write_switch):
        write(todo)
    return todo.steps


def lay_out(grammar: Grammar, steps: Iterable[Step]) -> list[Block]:
    """Put lines in the grammar's order and in blocks that begin and end at CONFIG.

    Within a phase, lines of one context stand together, and ports with equal lines share a block.
    """
    blocks: list[tuple[str, list[str]]] = []
    for _, context, lines in in_order(grammar, steps):
        enter = "" if context is CONFIG else grammar.enter(context)
        if blocks and blocks[-1][0] == enter:
            blocks[-1][1].extend(text for text, _ in lines)
        else:
            blocks.append((enter, [text for text, _ in lines]))
    return [(enter, *lines, grammar.session.leave) if enter else tuple(lines) for enter, lines in blocks]


def in_order(grammar: Grammar, steps: Iterable[Step]) -> Iterable[tuple[int, Context, list[_Line]]]:
    """Yield the lines in the order they go out, as (index of the phase, context, lines with the cells they change)."""
    place = {name: (at, rank) for at, phase in enumerate(grammar.order) for rank, name in enumerate(phase)}
    by_phase: dict[int, list[tuple[int, Step]]] = {}
    for step in steps:
        at, rank = place[step.name]
        by_phase.setdefault(at, []).append((rank, step))
    for at, ranked in sorted(by_phase.items()):
        by_context: dict[Context, list[_Line]] = {}
        for _, step in sorted(ranked, key=lambda pair: pair[0]):
            by_context.setdefault(step.context, []).append((step.text, step.changes))
        for context, lines in _shared(grammar, by_context):
            yield at, context, lines


def _ascending(by_context: dict[Context, list[_Line]]) -> list[tuple[Context, list[_Line]]]:
    return sorted(by_context.items(), key=lambda pair: (pair[0].ports, pair[0].vlan))


def _shared(grammar: Grammar, by_context: dict[Context, list[_Line]]) -> Iterable[tuple[Context, list[_Line]]]:
    """Yield contexts with their lines, ports of equal lines joined to ranges."""
    groups: dict[tuple[str, tuple[str, ...]], list[Context]] = {}
    for context, lines in _ascending(by_context):
        if context.kind is ContextKind.INTERFACE:  # a range has ports of one kind: no port-channels among others
            key = grammar.port_lists.kind(context.ports[0]), tuple(text for text, _ in lines)
            groups.setdefault(key, []).append(context)
    waiting = [(texts, contexts) for (_, texts), contexts in groups.items()]
    for context, lines in by_context.items():
        if context.kind is not ContextKind.INTERFACE:
            yield context, lines
            continue
        for texts, contexts in waiting:
            by_port = {each.ports[0]: by_context[each] for each in contexts}
            for part in fitting_ports(grammar, list(by_port)):
                together = zip(texts, *(by_port[port] for port in part), strict=True)
                joined = [(text, tuple(chain.from_iterable(c for _, c in same))) for text, *same in together]
                yield _at(*part), joined
        waiting = []


def _write_vlans(todo: _Changes) -> None:
    for step, wanted in (("vlan_create", True), ("vlan_delete", False)):
        if changes := [change for change in todo.cells[Cell.VLAN] if bool(change.after) is wanted]:
            along = [] if wanted else _taken_along(todo)
            database = todo.grammar.lines[step].context is ContextKind.VLAN_DATABASE
            todo.add_vlans(step, VLAN_DATABASE if database else CONFIG, [*changes, *along])
    for change in todo.cells[Cell.VLAN_NAME]:
        context, name = Context(ContextKind.INTERFACE_VLAN, vlan=change.vlan), str(change.after)
        if name:
            check_name(todo.grammar, name)
            todo.add("vlan_name", context, (change,), name=name)
        elif change.vlan not in todo.deleted:
            todo.add("no_vlan_name", context, (change,))


def check_name(grammar: Grammar, name: str) -> None:
    """Raise PlanError for a VLAN's name that the switch would not take, or not give back."""
    longest = grammar.name_length
    if len(name) > longest or '"' in name or not name.isprintable() or name.split(" ") != name.split():
        raise PlanError(f"a VLAN name has 1 to {longest} printable characters without quotes", repr(name))


def _taken_along(todo: _Changes) -> list[Change]:
    """List what goes with the VLANs that are deleted: names, memberships and static entries."""
    cells = (Cell.VLAN_NAME, Cell.MEMBER, Cell.ENTRY)
    return [change for cell in cells for change in todo.cells[cell] if change.vlan in todo.deleted]


def _write_memberships(todo: _Changes) -> None:
    lists: dict[tuple[str, int], list[Change]] = {}  # by (step, port)
    natives: dict[int, dict[int, list[Change]]] = {}  # port outside general mode -> its one untagged VLAN
    left: dict[int, list[Change]] = {}  # access port -> VLANs that it leaves by joining another
    plain = _made_plain(todo)
    for change in todo.cells[Cell.MEMBER]:
        port, vlan = change.port, change.vlan
        mode = PortMode.GENERAL if port in plain else todo.mode(port)
        if vlan in todo.deleted and port not in plain:
            continue
        if mode is not PortMode.GENERAL and change.after == Membership.UNTAGGED:
            natives.setdefault(port, {}).setdefault(vlan, []).append(change)
            continue
        if mode is PortMode.ACCESS:
            if change.after:
                todo.refuse(port)
            left.setdefault(port, []).append(change)
            continue
        step = _step_of_member(change, mode, plain)
        if todo.grammar.keeps_other_mode and step == "leave" and change.before == Membership.UNTAGGED:
            step = "leave_untagged"
        if step != "trunk_leave" or change.before == Membership.TAGGED:
            lists.setdefault((step, port), []).append(change)
    for (step, port), changes in lists.items():
        todo.add_vlans(step, _at(port), changes, line=_line_of(todo.grammar, step))
    leaving = {change.port for change in todo.cells[Cell.MODE] if change.before == PortMode.GENERAL}
    for change in todo.cells[Cell.PVID]:
        mode = PortMode.GENERAL if change.port in plain else todo.mode(change.port)
        if mode is PortMode.GENERAL or (mode is PortMode.TRUNK and change.port in leaving):
            # a new trunk takes its PVID along, and nothing else
            todo.add("pvid", _at(change.port), (change,), vlan=change.after)
        if mode is not PortMode.GENERAL:
            natives.setdefault(change.port, {}).setdefault(_int(change.after), []).append(change)
    moved = {change.port for change in todo.cells[Cell.MODE]}
    for port, wanted in natives.items():
        if len(wanted) > 1 or DISCARD_PVID in wanted:
            todo.refuse(port)
        step = "access_vlan" if todo.mode(port) is PortMode.ACCESS else "trunk_native"
        if step == "access_vlan" and todo.grammar.trunks_by_default and port not in moved:
            todo.add("mode_access", _at(port))
        along = left.get(port, ())
        todo.add(step, _at(port), chain(chain.from_iterable(wanted.values()), along), vlan=min(wanted))


def _line_of(grammar: Grammar, step: str) -> str:
    """Return the line that a step of membership is written by, "" for that of its name."""
    if step == "join_untagged" and grammar.keeps_other_mode:  # the native VLAN says that it is untagged
        return "join_tagged"
    return _LINE_OF.get(step, "")


def _write_remade(todo: _Changes) -> None:
    """Write the ports that become trunks or cease to be, and take their changes out of `todo`.

    A trunk begins with no VLAN, so that all it is to carry is said anew; an access port is told its VLAN while it is
    still a trunk. Raises PlanError for a port that would be untagged elsewhere than in its PVID.
    """
    members: dict[int, list[Change]] = {}
    for change in todo.cells[Cell.MEMBER]:
        members.setdefault(change.port, []).append(change)
    pvids = {change.port: change for change in todo.cells[Cell.PVID]}
    remade = {change.port: change for change in todo.cells[Cell.MODE]}
    for port in sorted(members.keys() | pvids.keys() | remade.keys()):
        mine, pvid = members.get(port, []), pvids.get(port)
        carried, own = _port_after(todo, port, mine, pvid)
        mode, context = todo.mode(port), _at(port)
        untagged = {vlan for vlan, how in carried.items() if how == Membership.UNTAGGED}
        if untagged != ({own} - {DISCARD_PVID}) or (mode is PortMode.ACCESS and set(carried) != {own}):
            raise untagged_in_its_pvid(todo.grammar, port)
        if port not in remade:
            continue
        changes = [*mine, *([pvid] if pvid is not None else [])]
        if mode is PortMode.ACCESS:
            todo.add("access_vlan", context, vlan=own)
            todo.add("mode_access", context, (remade[port], *changes))
            todo.add("list_all", context)
            todo.add("no_pvid", context)
            continue
        todo.add("list_none", context)
        todo.add("mode_general", context, (remade[port], *(change for change in mine if not change.after)))
        todo.add("pvid", context, (pvid,) if pvid is not None else (), vlan=own)
        joins = {change.vlan: change for change in mine if change.after}
        for step, how in (("join_untagged", Membership.UNTAGGED), ("join_tagged", Membership.TAGGED)):
            vlans = sorted(vlan for vlan, each in carried.items() if each == how)
            for part in fitting(vlans, lambda some: todo.grammar.line("join_tagged", vlans=some)) if vlans else ():
                said = [joins[vlan] for vlan in part if vlan in joins]
                todo.add(step, context, said, line="join_tagged", vlans=part)
    todo.cells[Cell.MODE] = []
    for cell in (Cell.MEMBER, Cell.PVID):
        todo.cells[cell] = [change for change in todo.cells[cell] if change.port not in remade]


def _port_after(
    todo: _Changes, port: int, members: Sequence[Change], pvid: Change | None
) -> tuple[dict[int, Membership], int]:
    """Return the VLANs that a port is in after the changes, and its PVID."""
    before = todo.before
    carried, own = {DEFAULT_VLAN: Membership.UNTAGGED}, DEFAULT_VLAN
    if before is not None:
        column = before.membership[:, port - 1]
        held = zip(before.vlans.tolist(), column.tolist(), strict=True)
        carried, own = {vlan: Membership(how) for vlan, how in held if how}, int(before.pvid[port - 1])
    for change in members:
        carried[change.vlan] = Membership(_int(change.after))
    own = own if pvid is None else _int(pvid.after)
    return {vlan: how for vlan, how in carried.items() if how and vlan not in todo.deleted}, own


def untagged_in_its_pvid(grammar: Grammar, port: int) -> UnwritableError:
    """Return the error of a port that is untagged in another VLAN than its PVID's, where a family has no such ports."""
    return UnwritableError(
        f"a port of a {grammar.platform.title} is untagged in one VLAN, that of its untagged frames, and in no other",
        _where(grammar, _at(port)),
    )


def _step_of_member(change: Change, mode: PortMode, plain: Collection[int]) -> str:
    """Return the step that writes a membership outside access mode; `plain` ports go back to VLAN 1."""
    if mode is PortMode.TRUNK:
        return "trunk_join" if change.after else "trunk_leave"
    if change.after and change.port in plain:
        return "join_default"
    if change.after:
        return "join_untagged" if change.after == Membership.UNTAGGED else "join_tagged"
    return "leave_default" if change.vlan == DEFAULT_VLAN else "leave"


def _made_plain(todo: _Changes) -> set[int]:
    """Return the ports that leave general mode where that asks for VLAN 1 alone: general mode's lines lead there.

    Raises PlanError for a port with another VLAN before or after a change of its mode: it would pass through VLAN 1.
    """
    if not todo.grammar.changes_from_defaults:
        return set()
    changing = {change.port: change.before for change in todo.cells[Cell.MODE]}
    for change in todo.cells[Cell.PVID]:
        general = changing.get(change.port) == PortMode.GENERAL
        if change.port in changing and (change.after if general else change.before) != DEFAULT_VLAN:
            rule = f"a {todo.grammar.platform.title} changes what a port is in VLAN 1 alone"
            raise PlanError(
                rule, _where(todo.grammar, _at(change.port)), "put it into VLAN 1 by hand, while nothing depends on it"
            )
    return {port for port, before in changing.items() if before == PortMode.GENERAL}


def without_floods_by_port(grammar: Grammar, port: int) -> PlanError:
    """Return the refusal of a port that is to flood nothing or to learn nothing, for which there is no line."""
    name = grammar.platform.port_name(port)
    return PlanError(
        f"a {grammar.platform.title} has no line that keeps floods or learning off one port", f"port {name}"
    )


def _write_ports(todo: _Changes) -> None:
    for change in (change for cell in (Cell.FLOODING, Cell.LEARNING) for change in todo.cells[cell]):
        raise without_floods_by_port(todo.grammar, change.port)
    for change in todo.cells[Cell.MODE]:
        _write_mode(todo, change)
    switchwide = todo.grammar.switchwide
    for cell in sorted(switchwide):
        _write_switchwide(todo, cell)
    for change in (change for cell in PORT_CELLS if cell in _PLAIN_CELLS - switchwide for change in todo.cells[cell]):
        cell, after, context = change.cell, change.after, _at(change.port)
        if cell in _GENERAL_ONLY and todo.mode(change.port) is not PortMode.GENERAL:
            if after != _GENERAL_ONLY[cell]:
                todo.refuse(change.port)
        elif cell is Cell.SPEED and after:
            todo.add("speed", context, (change,), mbps=after)
        elif cell is Cell.PORT_SPANNING_TREE:
            late = "late_" if after and _turned(todo, on=False) else ""
            todo.add(f"{late}{_STEP_OF[cell, after]}", context, (change,), line=_STEP_OF[cell, after])
        else:
            todo.add(_STEP_OF[cell, after], context, (change,))
        if cell is Cell.NEGOTIATION and not after and todo.grammar.has("duplex"):
            todo.add("duplex", context)  # without negotiation a link may fall to half duplex (6024 manual p. 61)


def _write_mode(todo: _Changes, change: Change) -> None:
    """Write the line of a port's mode, and where the family has one, the line by which it takes what it must take."""
    grammar, mode, context = todo.grammar, todo.mode(change.port), _at(change.port)
    if grammar.changes_by_access and {change.before, mode} == {PortMode.TRUNK, PortMode.GENERAL}:
        rule = f"a {grammar.platform.title} makes a trunk a general (hybrid) port by way of access mode, in VLAN 1"
        raise PlanError(rule, _where(grammar, context), "make it an access port by hand, while nothing depends on it")
    todo.add(_STEP_OF_MODE[mode], context, (change,))
    if grammar.has("source_unchecked") and PortMode.GENERAL in (change.before, mode):
        todo.add("source_unchecked" if mode is PortMode.GENERAL else "source_checked", context)


def _write_switchwide(todo: _Changes, cell: Cell) -> None:
    """Write the one line that sets a cell on all ports."""
    changes = todo.cells[cell]
    if changes:
        todo.add(
            _STEP_OF[cell, same_for_all(todo.grammar, cell, [change.after for change in changes])], CONFIG, changes
        )


def same_for_all(grammar: Grammar, cell: Cell, wanted: Sequence[Value]) -> Value:
    """Return what a cell that one line sets is to be on all ports. Raises PlanError unless all change alike."""
    platform = grammar.platform
    if len(set(wanted)) > 1 or len(wanted) < platform.ports:
        words = cell.value.replace("-", " ").replace("eee", "EEE")
        rule = f"{platform.title} switches {words} for all its ports at once"
        raise PlanError(
            rule, f"{number_of(len(wanted), 'port')} were to change", "give every port of the switch the same"
        )
    return wanted[0]


def _write_groups(todo: _Changes) -> None:
    for change in todo.cells[Cell.LAG]:
        if change.before:
            todo.add("lag_leave", _at(change.port), (change,))
        if change.after:
            todo.add("lag_join", _at(change.port), (change,), channels=(change.after,))


def _write_entries(todo: _Changes) -> None:
    grammar = todo.grammar
    for change in todo.cells[Cell.ENTRY]:
        context = grammar.entry_context(change.vlan)
        if change.after:
            line = grammar.entry_line(change.vlan, change.mac, change.after)  # type: ignore[arg-type]  # an entry cell holds ports
            todo.steps.append(Step("entry", context, line, (change,)))
        elif change.vlan not in todo.deleted:
            todo.add("no_entry", context, (change,), mac=change.mac, vlan=change.vlan, ports=change.before)


def _write_switch(todo: _Changes) -> None:
    for change in todo.cells[Cell.SPANNING_TREE]:
        line = "spanning_tree_on" if change.after else "spanning_tree_off"
        late = change.after and any(not each.after for each in todo.cells[Cell.PORT_SPANNING_TREE])
        todo.add(f"late_{line}" if late else line, CONFIG, (change,), line=line)
    for change in todo.cells[Cell.BPDU_FILTERING]:
        step = "bpdu_filter_on" if change.after else "bpdu_filter_off"
        if not todo.grammar.has(step):
            raise PlanError(
                f"{todo.grammar.platform.title} filters or floods BPDUs as it comes", "another was asked for"
            )
        todo.add(step, CONFIG, (change,))
    for change in todo.cells[Cell.AGING]:
        todo.add("aging", CONFIG, (change,), seconds=change.after)


def _turned(todo: _Changes, *, on: bool) -> bool:
    """Return whether the switch's spanning tree is turned on, or off."""
    return any(bool(change.after) is on for change in todo.cells[Cell.SPANNING_TREE])


def fitting(items: list[int], write: Callable[[list[int]], str], runs: int = 0) -> list[list[int]]:
    """Cut a list into parts of `runs` ranges at most (0 = any number), and halve these until each line is short enough.

    >>> fitting([1, 2, 3, 7, 9], str, runs=2)
    [[1, 2, 3, 7], [9]]
    """
    if runs and len(cut := _cut(items, runs)) > 1:
        return [part for some in cut for part in fitting(some, write)]
    if len(items) == 1 or len(write(items)) <= LONGEST_LINE:
        return [items]
    half = len(items) // 2
    return [*fitting(items[:half], write), *fitting(items[half:], write)]


def _cut(items: list[int], runs: int) -> list[list[int]]:
    """Cut ascending numbers behind every so many ranges of them."""
    begins = [at for at, item in enumerate(items) if at == 0 or item != items[at - 1] + 1][::runs]
    return [items[low:high] for low, high in pairwise([*begins, len(items)])]


def fitting_ports(grammar: Grammar, ports: list[int]) -> list[list[int]]:
    """Cut a list of ports into those that one line enters: all that fit in it, or one where there are no ranges."""
    if "interface_range" not in grammar.lines:
        return [[port] for port in ports]
    return fitting(ports, lambda some: grammar.enter(_at(*some)))


def _at(*ports: int) -> Context:
    return Context(ContextKind.INTERFACE, ports=ports)


def _where(grammar: Grammar, context: Context) -> str:
    return f"port {grammar.platform.port_name(context.ports[0])}" if context.ports else "the switch itself"


def _int(value: object) -> int:
    return int(value)  # type: ignore[call-overload, no-any-return]  # mode and PVID cells hold numbers
