"""Read the waves to push from a build's or a rollout's directory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.records.forms import BuildForm, GivenBackForm, RolloutForm
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions
from tagloom.storage.document import checked, read_json
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from tagloom.records.fabric import Fabric

GIVEN_BACK = "given-back.json"  # of a build that is set up in one go where another fabric was


@dataclass(frozen=True, slots=True)
class WaveOrder:
    """One wave to push: `configs` and `expected` are directories of ``SWITCH.cfg``, target and state before.

    number    from 1; wave 0 sends nothing: it saves the running configuration of switches as it is
    expected  None if the switches may hold anything beforehand: a build's only wave
    paused    hosts are cut off on purpose after it
    assumptions  what it was proven under
    switches  those it changes, the slowest first; None = all
    fabrics   the fabric files of the states before and after it, if a rollout leads from one fabric to another
    only_own  only the operator's own lines are sent
    until_up  the wait after it is only for links that were off
    """

    number: int
    name: str
    configs: Path
    expected: Path | None = None
    drain_seconds: float = 0.0
    paused: bool = False
    switches: tuple[str, ...] | None = None
    assumptions: ProofAssumptions = AS_PLANNED
    fabrics: tuple[Path, ...] = ()
    only_own: bool = False
    until_up: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the wave as plain values, for Ansible."""
        return {
            "number": self.number,
            "name": self.name,
            "configs": str(self.configs),
            "expected": str(self.expected or ""),
            "drain_seconds": self.drain_seconds,
            "switches": self.switches,
            "only_own": self.only_own,
            "until_up": self.until_up,
        }


def read_rollout(directory: Path) -> RolloutForm:
    """Return the contents of rollout.json. Raises InputError."""
    path = directory / "rollout.json"
    if not path.exists():
        actual = "a build" if (directory / "configs").is_dir() else "another" if directory.exists() else "nothing there"
        rule = "a rollout, a directory that tagloom rollout OLD NEW -o DIR writes"
        raise InputError([Finding(str(directory), rule, actual)])
    return checked(RolloutForm, read_json(path, "a rollout made by tagloom rollout"), str(path))


def read_waves(build: Path) -> tuple[WaveOrder, ...]:
    """Return the waves of BUILD/rollout.json, or the one of BUILD/configs. Raises InputError.

    If the document names switches to "save", that is wave 0.
    """
    payload = build / "rollout.json"
    if not payload.is_file():
        if not (build / "configs").is_dir():
            actual = "neither" if build.exists() else "nothing there (tagloom plan FABRIC -o BUILD makes one)"
            raise InputError([Finding(str(build), "a build (configs/) or a rollout (rollout.json)", actual)])
        return (WaveOrder(1, "apply", build / "configs"),)
    plain = read_rollout(build)
    waves: list[WaveOrder] = []
    before = build / plain.before
    if plain.save:
        waves.append(WaveOrder(0, "save", before, before, switches=tuple(plain.save)))
    for number, said in enumerate(plain.waves, start=1):
        configs = build / said.configs
        assumptions = ProofAssumptions.from_json(said.terms.model_dump())
        fabrics = tuple(build / each for each in said.fabrics)
        more = {"assumptions": assumptions, "fabrics": fabrics, "until_up": said.until_up}
        waves.append(WaveOrder(number, said.name, configs, before, said.drain_seconds, said.paused, **more))  # type: ignore[arg-type]  # its own fields
        before = configs
    wrong = [
        Finding(str(payload), "a directory of configurations", f"no {wave.configs}")
        for wave in waves
        if not wave.configs.is_dir()
    ]
    for wave in waves:
        known = {path.name for path in wave.expected.glob("*.cfg")} if wave.expected is not None else set()
        for name in sorted({path.name for path in wave.configs.glob("*.cfg")} - known):
            rule = "what each switch holds before the wave that changes it"
            wrong.append(Finding(str(payload), rule, f"no {wave.expected}/{name}"))
    if wrong:
        raise InputError(wrong)
    return tuple(waves)


def refuse_unallowed(build: Path, allow: str) -> None:
    """Raise InputError if a push that does not read all switches first needs more than is allowed.

    A rollout's waves are proven, and are sent only if switches hold what they were proven from. A build's one wave
    starts from whatever they hold, so nothing proves that no pair of hosts is cut off.
    """
    where = "tagloom_apply_allow"
    if not (build / "rollout.json").is_file():
        if allow != "interrupt":
            expected = "interrupt: a build goes to all switches at once, which is not proven hitless"
            raise InputError([Finding(where, expected, repr(allow))])
    elif not allow and any(wave.paused for wave in read_rollout(build).waves):
        raise InputError([Finding(where, "drain: this rollout pauses hosts", repr(allow))])


def between(waves: Sequence[WaveOrder], first: int, last: int, *, check: bool) -> list[WaveOrder]:
    """Return waves `first` to `last` (0 = the last there is), preceded by wave 0 if there is one.

    A rollout's wave only reaches the switches whose text it changes. `check`, which only reads, reaches all switches
    and needs no wave 0.
    """
    chosen = [wave for wave in waves if wave.number == 0 or first <= wave.number <= (last or wave.number)]
    if check:
        return [replace(wave, switches=None) for wave in chosen if wave.number]
    return [replace(wave, switches=_changed(wave)) for wave in chosen]


def own_wave(waves: Sequence[WaveOrder], number: int) -> WaveOrder:
    """Return the wave of the operator's own lines, which follows the last and reaches all switches."""
    return WaveOrder(number, "lines of your own", waves[-1].configs, only_own=True)


def _changed(wave: WaveOrder) -> tuple[str, ...] | None:
    """Return the switches whose text differs, those with the most such lines, which take longest, first.

    If their former text is unknown, or for wave 0, return the wave's own switches.
    """
    before, after = wave.expected, wave.configs
    if before is None or wave.number == 0:
        return wave.switches
    lines: dict[str, int] = {}
    for path in sorted(after.glob("*.cfg")):
        here, there = (text.read_bytes() for text in (before / path.name, path))
        if here != there:
            lines[path.stem] = len(set(here.splitlines()) ^ set(there.splitlines()))
    return tuple(sorted(lines, key=lambda name: -lines[name]))


def digest(texts: Mapping[str, str], templates: Iterable[tuple[str, str]]) -> str:
    """Return a hash of configurations, by switch, and of the operator's templates they are read by."""
    whole = hashlib.sha256()
    for name, text in [*sorted(texts.items()), *sorted(templates)]:
        for part in (name.encode(), text.encode()):
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


def proven_texts(
    directory: Path, switches: Collection[str], proven: str, templates: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """Return the configurations of switches. Raises InputError if they are not those that were proven.

    `proven` is their digest, "" if unknown. Files may be missing if it is unknown.
    """
    paths = {name: path for name in switches if (path := directory / f"{name}.cfg").is_file()}
    texts = {name: read_text(path, "a readable configuration") for name, path in paths.items()}
    if proven and digest(texts, templates) != proven:
        raise InputError([Finding(str(directory), "the configurations that were proven", "others")])
    return texts


def build_of(source: Path) -> Path:
    """Return the directory of the build that a build or a rollout leads to."""
    return source / "build" if (source / "rollout.json").is_file() else source


def fabric_file(build: Path) -> Path:
    """Return the path of the fabric file of a build or a rollout; a rollout between two fabrics has its own."""
    own = build / "fabric.yml"
    return build / "build" / "fabric.yml" if (build / "rollout.json").is_file() and not own.is_file() else own


def ports_of(build: Path, fabric: Fabric) -> dict[str, tuple[int, ...]]:
    """Return the ports of every switch that a push may change: the fabric's, or both fabrics'. Raises InputError."""
    ports = {s.name: tuple(used) for s, used in zip(fabric.switches, fabric.used_ports, strict=True)}
    if (build / "rollout.json").is_file():
        ports |= {name: tuple(more) for name, more in read_rollout(build).ports.items() if name in ports}
    elif gives_back(build):
        path = build / GIVEN_BACK
        more = checked(GivenBackForm, read_json(path, "ports that are given back"), str(path)).ports
        ports = {name: tuple(sorted({*used, *more.get(name, ())})) for name, used in ports.items()}
    return ports


def gives_back(build: Path) -> bool:
    """Return whether a build also gives ports back that hosts and links of a former fabric had."""
    return (build / GIVEN_BACK).is_file()


def pruned_of(build: Path) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the memberships in foreign VLANs that a push may change, by switch as (VLAN, port). Raises InputError.

    Whoever ordered the rollout allowed exactly these.
    """
    cells: dict[str, tuple[tuple[int, int], ...]] = {}
    for each in read_rollout(build).pruned if (build / "rollout.json").is_file() else ():
        cells[each.switch] = (*cells.get(each.switch, ()), (each.vlan, each.port))
    return cells


def left_alone(build: Path) -> tuple[str, ...]:
    """Return the switches of the old fabric that a rollout leaves alone. Raises InputError."""
    if not (build / "rollout.json").is_file() or (left := read_rollout(build).left) is None:
        return ()
    return tuple(sorted(path.stem for path in (build / left).glob("*.cfg")))


def duplicates_allowed(directory: Path) -> bool:
    """Return whether a build or a rollout allows broadcasts to arrive several times. Raises InputError."""
    plan = directory / "plan.json"
    if (directory / "rollout.json").exists():
        return read_rollout(directory).broadcast_duplicates_allowed
    if not plan.exists():
        return False
    return (
        checked(BuildForm, read_json(plan, "a build made by tagloom plan"), str(plan)).summary.broadcast == "static-arp"
    )


def learns(directory: Path) -> bool:
    """Return whether the switches of a build learn where hosts are, without static entries. Raises InputError."""
    plan = directory / "plan.json"
    if (directory / "rollout.json").exists() or not plan.exists():
        return False
    return checked(BuildForm, read_json(plan, "a build made by tagloom plan"), str(plan)).summary.taught


def flooding(directory: Path) -> frozenset[int]:
    """Return the numbers of a rollout's waves after which switches still learn in some VLAN; none for a build."""
    if not (directory / "rollout.json").is_file():
        return frozenset()
    return frozenset(number for number, wave in enumerate(read_rollout(directory).waves, start=1) if wave.floods)
