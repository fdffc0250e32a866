"""Stand a fabric up in a real kernel, and ask it what its frames do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tagloom import platforms
from tagloom.errors import DeviceError
from tagloom.records.switch_state import BROADCAST
from tagloom.render import read_bridge
from tagloom.units import format_mac

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.lab.kernel.connection import Connection
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState

PLATFORM = platforms.load("linux-bridge")


@dataclass(frozen=True)
class Seen:
    """What became of one frame.

    hops   (switch, port, tag) of every copy a switch sent, tag 0 = untagged; heard  copies by host
    storm  frames sent in `seconds` of it, by (switch, port); none where there was no storm
    """

    hops: Counter[tuple[int, int, int]]
    heard: dict[int, int]
    storm: dict[tuple[int, int], int]
    seconds: float

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Seen:
        return cls(
            Counter(tuple(hop) for hop in raw["hops"]),
            {int(host): copies for host, copies in raw["hosts"].items()},
            {(switch, port): frames for switch, port, frames in raw["storm"]},
            raw["seconds"],
        )


class Bench:
    """Hold one fabric in the kernel; enter it as a context to build it, leave it to clear it away."""

    def __init__(self, machine: Connection, fabric: Fabric) -> None:
        self.machine, self.fabric = machine, fabric

    def __enter__(self) -> Self:
        self.machine.request(
            "build",
            switches=len(self.fabric.switches),
            links=[[link.a, link.a_port, link.b, link.b_port] for link in self.fabric.links],
            hosts=[[host.switch, host.port, format_mac(host.mac)] for host in self.fabric.hosts],
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, DeviceError):  # who gives no answer is not asked again
            self.machine.request("clear")

    def configure(self, texts: dict[str, str], folder: Path, *, one_by_one: bool) -> dict[str, list[str]]:
        """Let a shell on every switch run its text as it is; what it complained of, by switch.

        `one_by_one` starts a process for each command; otherwise few processes take the commands of many lines.
        """
        paths = {}
        for i, switch in enumerate(self.fabric.switches):
            (folder / f"{switch.name}.cfg").write_text(texts[switch.name], "utf-8")
            paths[str(i)] = str(folder / f"{switch.name}.cfg")
        errors = self.machine.request("run", texts=paths, one_by_one=one_by_one)["errors"]
        return {switch.name: errors[str(i)] for i, switch in enumerate(self.fabric.switches)}

    def type(self, switch: str, lines: tuple[str, ...]) -> list[str]:
        """Run commands on one switch; gives those that failed, with their answers."""
        answers = self.machine.request("type", switch=self.fabric.index[switch], lines=list(lines))["answers"]
        return [f"{line}: {text}" for line, (status, text) in zip(lines, answers, strict=True) if status]

    def state(self, switches: list[str] | None = None) -> FabricState:
        """Read back what the kernel holds of all switches, or of those named."""
        found = {}
        for name in switches if switches is not None else self.fabric.index:
            raw = self.machine.request("show", switch=self.fabric.index[name])
            found[name] = read_bridge(PLATFORM, raw["links"], raw["vlans"], raw["entries"])
        return found

    def unicasts(self, pairs: list[tuple[int, int]], patience: float = 0.0) -> list[Seen]:
        """Send one frame for each (host, host)."""
        return self._send([(a, int(self.fabric.host_mac[b])) for a, b in pairs], patience)

    def broadcasts(self, hosts: list[int], patience: float = 0.0) -> list[Seen]:
        """Send one broadcast from each host."""
        return self._send([(a, BROADCAST) for a in hosts], patience)

    def teach(self, turns: list[tuple[int, int]]) -> list[Seen]:
        """Send a broadcast of each (host, VLAN), tagged by the host; the bridges keep what they learn from it."""
        frames = [[host, format_mac(BROADCAST), vlan] for host, vlan in turns]
        return [Seen.of(each) for each in self.machine.request("send", frames=frames, learn=True)["frames"]]

    def taught(self, pairs: list[tuple[int, int]]) -> list[Seen]:
        """Send one frame for each (host, host), by what the bridges have learned."""
        frames = [[a, format_mac(int(self.fabric.host_mac[b]))] for a, b in pairs]
        return [Seen.of(each) for each in self.machine.request("send", frames=frames, learn=True)["frames"]]

    def _send(self, frames: list[tuple[int, int]], patience: float) -> list[Seen]:
        raw = self.machine.request("send", frames=[[a, format_mac(mac)] for a, mac in frames], patience=patience)
        return [Seen.of(each) for each in raw["frames"]]

    def sent(self) -> Counter[tuple[int, int]]:
        """Give the kernel's own count of frames sent, by (switch, port)."""
        frames = self.machine.request("counters")["frames"]
        return Counter(
            {
                (s, int(port.removeprefix("swp"))): sent
                for s, ports in enumerate(frames)
                for port, (_, sent) in ports.items()
            }
        )
