"""Run a fabric's virtual switches together: consoles, the wires between them, and a control channel."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.errors import DeviceError, Finding, InputError, one_of
from tagloom.lab import agent, lines, manners, server, traps
from tagloom.lab.agent import Agent, Login
from tagloom.lab.dataplane import Dataplane
from tagloom.lab.device import Configuration, Device, UnmanagedConfig
from tagloom.lab.directory import (
    DRAFT,
    LOOPBACK,
    ORDER,
    PASSWORD,
    SNMP,
    SOCKET_FOLDER,
    USER,
    Order,
    RackInfo,
    add_to_inventory,
    host_of,
    read_order,
    write_info,
    write_inventory,
)
from tagloom.lab.faults import AT_CABLES, BOOTS, LASTING, Fault
from tagloom.lab.kernel import choice
from tagloom.lab.kernel.dataplane import KernelDataplane
from tagloom.lab.mib import FRAME_OCTETS, Neighbour, SwitchTree, switch_mac
from tagloom.lab.traffic import Traffic
from tagloom.read.transcript_file import read_transcript
from tagloom.render import render_configuration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    import asyncssh

    from tagloom.records.fabric import Fabric, Switch
    from tagloom.records.switch_state import SwitchState

ROUND_SECONDS = 0.05  # between two rounds of the hosts' own traffic while no line lands
_IDLE_SHARE = 4.0  # and never more than a fifth of the rack's time
_AGENT_PORT_TRIES = 20
_ENTERPRISE = b"\x80\x00\x1f\x88\x03"  # RFC 3411 snmpEngineID: net-snmp's number (the rack has none), a MAC follows
_MAX_SOCKET_PATH = 100  # bytes; sun_path of unix(7) holds 108 with its end


class Rack:
    """The devices of an order and their listeners; `request` answers what the control channel asks.

    `log` is where a kernel that carries the frames writes its own log.
    """

    def __init__(self, order: Order, log: Path | None = None) -> None:
        self.fabric = order.fabric
        self.ports: dict[str, int] = {}
        self.stopped = asyncio.Event()
        self._order = order
        self._stopping = False
        self._servers: list[asyncssh.SSHAcceptor] = []
        self._connections: dict[str, set[server.Wire]] = {}
        self._lines: dict[str, lines.Lines] = {}
        self.home: Path | None = None  # where its files are, of a rack that may grow
        self.socket = ""
        self._keys: list[asyncssh.SSHKey] = []
        self._far = _far_ends(self.fabric)
        self.devices = {s.name: self._device(number, s, self.fabric) for number, s in enumerate(self.fabric.switches)}
        self.set_quirks(order.quirks)
        self.dataplane: Dataplane | KernelDataplane
        if order.dataplane == "kernel":
            self.dataplane = KernelDataplane(self.fabric, order.templates, choice.start(log or Path(os.devnull)))
        else:
            self.dataplane = Dataplane(self.fabric, self._states())
        self.agents = {name: self._agent(number, device) for number, (name, device) in enumerate(self.devices.items())}
        self.snmp_port = 0
        self.traffic: Traffic | None = None
        self._settled: Dataplane | None = None  # what spanning tree has come to, since the last change
        self._pulled: dict[tuple[int, int], str] = {}
        self._losing: dict[tuple[int, int], str] = {}  # ports of which the cable loses what they send
        self._timers: dict[str, list[asyncio.TimerHandle]] = {}  # what is to end of itself, or to begin, by switch
        self._strikes: list[dict[str, Any]] = []
        self._reloads: dict[str, asyncio.TimerHandle] = {}  # that switches have scheduled themselves
        self._kept: dict[str, Configuration] = {}
        self._zero: dict[tuple[str, int], tuple[int, int]] = {}
        self._agent_ports: list[asyncio.DatagramTransport] = []
        self._target: traps.Target | None = None
        self._ports = self._wired_ports()
        self._links_up = {(s, port): self._is_up(s, port) for s, ports in enumerate(self._ports) for port in ports}
        self._link_changed: dict[tuple[int, int], float] = {}  # at which uptime of its switch, 0 if not since its boot

    def _device(self, number: int, switch: Switch, fabric: Fabric) -> Device:
        platform, name = platforms.of(switch), switch.name

        def render(state: SwitchState) -> str:
            return render_configuration(platform, state, self._order.templates)

        foreign = UnmanagedConfig.born(name, number, platform, fabric.used_ports[number])
        device = Device(name, platform, render, foreign, user=USER, password=PASSWORD)
        device.carrier, device.changed = partial(self._carrier, number), partial(self._changed, device)
        device.struck = partial(self._strike, device)
        device.reload = partial(self._reload, device)
        device.schedule, device.reloads_in = partial(self._schedule, device), partial(self._reloads_in, device)
        return device

    def _carrier(self, switch: int, port: int) -> bool:
        """Return whether a port has link: a host is always there; a neighbour is while its open port's settings fit."""
        if (switch, port) not in self._far:
            return bool(self.fabric.port_host[switch, port] >= 0)
        other, far = self._far[switch, port]
        device = self.devices[self.fabric.switches[other].name]
        here, there = self.devices[self.fabric.switches[switch].name].editor, device.editor
        fit = (here.negotiation[port - 1], here.speed_mbps[port - 1]) == (
            there.negotiation[far - 1],
            there.speed_mbps[far - 1],
        )
        return there.enabled[far - 1] and fit and not device.down and (switch, port) not in self._pulled

    def _agent(self, number: int, device: Device) -> Agent:
        """Make the switch's SNMP agent; it reads the same device that the console changes."""

        def uptime() -> float:
            return self.agents[device.name].uptime_seconds

        spanning = None if isinstance(self.dataplane, KernelDataplane) else partial(self._spanning, device.name)
        neighbours = partial(self._neighbours, number)

        def changed(port: int) -> float:
            return self._link_changed.get((number, port), 0.0)

        tree = SwitchTree(device, number, partial(self._octets, device.name), neighbours, uptime, changed, spanning)
        login = Login(SNMP["community"], SNMP["user"], SNMP["auth_password"], SNMP["priv_password"])
        engine_id = _ENTERPRISE + switch_mac(number).to_bytes(6, "big")

        def quiet() -> bool:
            configured = any(line.startswith("snmp-server ") for line in device.foreign.blocks.get("", []))
            return device.quirks.mute or device.down or (device.foreign.from_factory and not configured)

        return Agent(tree, login, engine_id, quiet=quiet)

    def _octets(self, name: str, port: int) -> tuple[int, int]:
        """Count a port's octets in and out since the switch booted."""
        frames = self.dataplane.received[name, port], self.dataplane.sent[name, port]
        zero = self._zero.get((name, port), (0, 0))
        return (frames[0] - zero[0]) * FRAME_OCTETS, (frames[1] - zero[1]) * FRAME_OCTETS

    def _neighbours(self, number: int) -> dict[int, Neighbour]:
        """Return what LLDP tells: the switches at the far ends of the cables that have link; hosts speak none."""
        device = self.devices[self.fabric.switches[number].name]
        found = {}
        for port in self._linked[number]:
            far, far_port = self._far[number, port]
            heard = (far, far_port) not in self._losing
            if heard and device.editor.enabled[port - 1] and self._carrier(number, port):
                name = self.fabric.switches[far].name
                found[port] = Neighbour(self.devices[name], far, far_port, agent_address(far))
        return found

    def _spanning(self, name: str) -> tuple[tuple[int, int] | None, set[int]]:
        """Return a switch's spanning tree as it has settled, with all switches as they are now."""
        if self._settled is None:
            self._settled = Dataplane(self.fabric, self._states())
            self._settled.break_off(self._dead(), self._pulled, self._losing)
        return self._settled.spanning(name)

    def _dead(self) -> dict[int, str]:
        """Return the switches that are down, with what to call the fault."""
        return {self.fabric.index[name]: f"reboot {name}" for name, device in self.devices.items() if device.down}

    @cached_property
    def _linked(self) -> list[list[int]]:
        """List per switch the ports that carry a cable to another."""
        return [sorted(p for at, p in self._far if at == s) for s in range(len(self.fabric.switches))]

    def _wired_ports(self) -> list[list[int]]:
        """List per switch the ports that carry a cable or a host."""
        hosts = self.fabric.port_host
        return [
            sorted({*ports, *(port for port, host in enumerate(hosts[s]) if host >= 0)})
            for s, ports in enumerate(self._linked)
        ]

    def _states(self) -> dict[str, SwitchState]:
        return {name: device.forwarding() for name, device in self.devices.items()}

    async def start(self) -> str:
        """Open every switch's port; returns the known_hosts lines. Raises OSError for a port in use."""
        self._keys = server.host_keys(legacy=self._order.legacy_ssh)
        for number, device in enumerate(self.devices.values()):
            await self._serve(number, device)
        await self._listen()
        return server.known_hosts(self._keys, list(self.ports.values()))

    async def _serve(self, number: int, device: Device) -> None:
        """Open a switch's SSH port. Raises OSError for a port in use."""
        connections = self._connections.setdefault(device.name, set())
        port = self._order.base_port + number if self._order.base_port else 0
        acceptor = await server.serve(device, self._keys, connections, port, legacy=self._order.legacy_ssh)
        self._servers.append(acceptor)
        self.ports[device.name] = acceptor.get_port()

    # --- a rack that grows -----------------------------------------------------------------------------------------

    async def _add(self, _: dict[str, Any]) -> dict[str, Any]:
        """Take the switches, cables and hosts of the order's draft that the rack has not; none of its own restarts.

        The draft has the rack's own switches first. Raises InputError where a kernel carries the frames, or an address
        of a new switch is in use; nothing is changed then.
        """
        assert self.home is not None  # noqa: S101 - a rack without a directory has no control channel
        if isinstance(self.dataplane, KernelDataplane):
            raise InputError([Finding("add", "the rack's own data plane (lab up --dataplane frames)", "kernel")])
        order, old = read_order(self.home, DRAFT), self.fabric
        fresh = {
            number: self._device(number, switch, order.fabric)
            for number, switch in enumerate(order.fabric.switches)
            if switch.name not in self.devices
        }
        agents = {number: self._agent(number, device) for number, device in fresh.items()}
        await self._open(fresh, agents)
        self._grow(order, fresh, agents)
        (self.home / DRAFT).replace(self.home / ORDER)
        new = [self.ports[device.name] for device in fresh.values()]
        add_to_inventory(self.info(), old, self.fabric, server.known_hosts(self._keys, new))
        write_info(self.info())
        return {"ports": self.ports}

    async def _open(self, fresh: Mapping[int, Device], agents: Mapping[int, Agent]) -> None:
        """Open the ports of new switches, all or none. Raises InputError for one in use."""
        opened: list[asyncio.DatagramTransport] = []
        servers = len(self._servers)
        try:
            for number, device in fresh.items():
                opened.append(await agent.serve(agents[number], (agent_address(number), self.snmp_port)))
                await self._serve(number, device)
        except OSError as error:
            for transport in opened:
                transport.close()
            for acceptor in self._servers[servers:]:
                acceptor.close()
            del self._servers[servers:]
            for device in fresh.values():
                self.ports.pop(device.name, None)
                self._connections.pop(device.name, None)
            raise InputError([Finding("add", "free ports on loopback", error.strerror or str(error))]) from error
        self._agent_ports += opened

    def _grow(self, order: Order, fresh: Mapping[int, Device], agents: Mapping[int, Agent]) -> None:
        """Plug new switches, cables and hosts in at one stroke."""
        assert isinstance(self.dataplane, Dataplane)  # noqa: S101 - asked before
        self._order, self.fabric, self._far = order, order.fabric, _far_ends(order.fabric)
        self.__dict__.pop("_linked", None)
        for number, device in fresh.items():
            self.devices[device.name], self.agents[device.name] = device, agents[number]
            device.quirks = replace(device.quirks, **order.quirks.get("*", {}))
        self._ports = self._wired_ports()
        for number, ports in enumerate(self._ports):
            for port in ports:  # those of switches that were there come up now, those of new ones with them
                self._links_up.setdefault((number, port), number in fresh and self._is_up(number, port))
        self.dataplane.grow(self.fabric, self._states())
        self._renew("a rack that grew")

    def info(self) -> RackInfo:
        """Return where the rack runs, for others."""
        assert self.home is not None  # noqa: S101 - as above
        agents = {name: agent_address(number) for number, name in enumerate(self.agents)}
        return RackInfo(self.home, os.getpid(), self.socket, self.ports, agents, self.snmp_port)

    async def _listen(self) -> None:
        """Open every agent's address at one UDP port that is free on all of them; the system chooses it."""
        for attempt in range(_AGENT_PORT_TRIES):
            try:
                for number, each in enumerate(self.agents.values()):
                    transport = await agent.serve(each, (agent_address(number), self.snmp_port))
                    self._agent_ports.append(transport)
                    self.snmp_port = int(transport.get_extra_info("sockname")[1])
            except OSError:
                self._close_agents()
                if attempt == _AGENT_PORT_TRIES - 1:
                    raise
            else:
                return

    def _close_agents(self) -> None:
        for transport in self._agent_ports:
            transport.close()
        self._agent_ports, self.snmp_port = [], 0

    async def stop(self) -> None:
        """Close every port and session."""
        self._close_agents()
        for line in self._lines.values():
            line.close()
        for acceptor in self._servers:
            acceptor.close()
        self._hang_up(self.devices)
        if isinstance(self.dataplane, KernelDataplane):
            self.dataplane.close()
        await asyncio.gather(*(acceptor.wait_closed() for acceptor in self._servers))

    def _hang_up(self, names: Iterable[str]) -> None:
        for name in names:
            for connection in list(self._connections.get(name, ())):
                connection.abort()

    def set_quirks(self, quirks: Mapping[str, Mapping[str, Any]]) -> None:
        """Change quirks by switch, "*" first and for all. Raises InputError, having changed nothing."""
        replace(self._order, quirks=quirks)  # checks them
        for name in sorted(quirks):  # "*" sorts before every letter and digit
            for device in self._named([] if name == "*" else [name]):
                device.quirks = replace(device.quirks, **quirks[name])

    def _named(self, names: Iterable[str]) -> list[Device]:
        wanted = list(names) or list(self.devices)
        findings = [Finding("switch", one_of(self.devices, n), n) for n in wanted if n not in self.devices]
        if findings:
            raise InputError(findings)
        return [self.devices[name] for name in wanted]

    def request(self, order: dict[str, Any]) -> dict[str, Any] | Awaitable[dict[str, Any]]:
        """Answer one order of the control channel, now or once it is done. Raises InputError for one that cannot be."""
        verbs: dict[str, Callable[[dict[str, Any]], dict[str, Any] | Awaitable[dict[str, Any]]]] = {
            "status": self._status,
            "ping": self._ping,
            "trace": self._trace,
            "broadcast": self._broadcast,
            "configurations": self._configurations,
            "counters": self._counters,
            "quirks": self._quirks,
            "reboot": self._reboot,
            "console": self._console,
            "play": self._play,
            "manner": self._manner,
            "keep": self._keep,
            "restore": self._restore,
            "fault": self._fault,
            "faults": self._faults,
            "mend": self._mend,
            "elapse": self._elapse,
            "plug": self._plug_hosts,
            "traffic": self._traffic,
            "traps": self._traps,
            "add": self._add,
            "stop": self._stop,
        }
        verb = verbs.get(str(order.get("do")))
        if verb is None:
            raise InputError([Finding("do", "one of " + ", ".join(verbs), repr(order.get("do")))])
        return verb(order)

    def _status(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "fabric": self.fabric.name,
            "pid": os.getpid(),
            "dataplane": self._order.dataplane,
            "switches": {
                name: {
                    "model": device.platform.model,
                    "address": f"{LOOPBACK}:{self.ports[name]}",
                    "agent": f"{agent_address(number)}:{self.snmp_port}",
                    "sessions": len(self._connections[name]),
                    "configuring": device.editing is not None,
                    "reloads_in": device.reloads_in(),
                    "logins": device.logins,
                    "most_sessions": device.most_sessions,
                    "commands": device.faults.commands,
                    "down": device.down,
                    "quirks": asdict(device.quirks),
                }
                for number, (name, device) in enumerate(self.devices.items())
            },
        }

    def _ping(self, order: dict[str, Any]) -> dict[str, Any]:
        a, b = order.get("from"), order.get("to")
        self.dataplane.configure(self._states())
        if (some := order.get("pairs")) is not None:
            self._known_hosts(*(name for pair in some for name in pair))
            lost = [[a, b] for a, b in some if not self.dataplane.unicast(a, b).copies]
            self._remember()
            return {"pairs": len(some), "reached": len(some) - len(lost), "lost": len(lost), "lost_pairs": lost}
        if a is None and b is None:
            found = self.dataplane.ping_all()
            self._remember()
            lists = {k: [list(pair) for pair in getattr(found, k)] for k in ("lost", "duplicated", "overheard")}
            counts = {"pairs": found.pairs, "reached": found.reached, "lost": len(found.lost)}
            details = {"lost_pairs": lists["lost"], "duplicated": lists["duplicated"], "overheard": lists["overheard"]}
            return counts | details | {"storm": found.storm}
        self._known_hosts(a, b)
        one = self.dataplane.unicast(str(a), str(b))
        self._remember()
        reached = int(one.copies > 0 and not one.storm)
        answer = {"pairs": 1, "reached": reached, "lost": 1 - reached}
        path = [[hop.switch, hop.in_port, hop.vlan, hop.out_port] for hop in one.path]
        return answer | {
            "path": path if not one.storm else path[: len(self.devices)],
            "delivered_to": one.delivered_to,
            "copies": one.copies,
            "flooded": list(one.flooded),
            "storm": one.storm,
        }

    def _trace(self, _: dict[str, Any]) -> dict[str, Any]:
        """Follow one frame of every ordered pair of hosts: "A B" -> [switch, in-port, out-port] of every copy sent."""
        self.dataplane.configure(self._states())
        names = [host.name for host in self.fabric.hosts]
        paths = {
            f"{a} {b}": [[hop.switch, hop.in_port, hop.out_port] for hop in self.dataplane.unicast(a, b).path]
            for a in names
            for b in names
            if a != b
        }
        self._remember()
        return {"paths": paths}

    def _broadcast(self, order: dict[str, Any]) -> dict[str, Any]:
        """Send one broadcast from each host, or the one named; hosts must get one copy each but the sender's none."""
        names = [h.name for h in self.fabric.hosts] if order.get("from") is None else [str(order["from"])]
        self._known_hosts(*names)
        self.dataplane.configure(self._states())
        delivered: dict[str, dict[str, int]] = {}
        for name in names:
            found = self.dataplane.broadcast(name)
            delivered[name] = found.delivered_to
            if found.storm:
                return {"delivered": delivered, "exactly_once": 0, "hosts": len(names), "storm": found.storm}
        everyone = {h.name for h in self.fabric.hosts}
        once = sum(copies == dict.fromkeys(everyone - {name}, 1) for name, copies in delivered.items())
        return {"delivered": delivered, "exactly_once": once, "hosts": len(names), "storm": ""}

    def _known_hosts(self, *names: object) -> None:
        hosts = [h.name for h in self.fabric.hosts]
        findings = [Finding("host", one_of(hosts, n), str(n)) for n in names if n not in hosts]
        if findings:
            raise InputError(findings)

    def _remember(self) -> None:
        for name, device in self.devices.items():
            device.learned = self.dataplane.learned(name)

    def _configurations(self, order: dict[str, Any]) -> dict[str, Any]:
        of = Device.startup_config if order.get("startup") else Device.running_config
        return {"configurations": {d.name: of(d) for d in self._named(order.get("switches") or [])}}

    def _counters(self, _: dict[str, Any]) -> dict[str, Any]:
        sent, received = self.dataplane.sent, self.dataplane.received
        frames: dict[str, dict[str, list[int]]] = {name: {} for name in self.devices}
        for key in sorted(sent.keys() | received.keys()):
            frames[key[0]][self.devices[key[0]].platform.port_name(key[1])] = [received[key], sent[key]]
        return {"frames": frames}

    def _quirks(self, order: dict[str, Any]) -> dict[str, Any]:
        self.set_quirks(order.get("quirks") or {})
        return {}

    def _traps(self, order: dict[str, Any]) -> dict[str, Any]:
        """Send notifications of links from now on, where and how an order says."""
        self._target = traps.Target.of(order)
        return {}

    def _is_up(self, number: int, port: int) -> bool:
        """Return whether a port is up: open, with link, on a switch that runs."""
        device = self.devices[self.fabric.switches[number].name]
        return self._carrier(number, port) and device.editor.enabled[port - 1] and not device.down

    def _note_links(self, changed: Device | None = None) -> None:
        """Note the ports that went up or down since the last time, and have the agents of their switches send word.

        Only of a switch that has `changed` and of its neighbours, where one alone has.
        """
        numbers = range(len(self._ports)) if changed is None else [self.fabric.index[changed.name]]
        at = [(number, port) for number in numbers for port in self._ports[number]]
        for number, port in dict.fromkeys([*at, *(self._far[end] for end in at if end in self._far)]):
            up = self._is_up(number, port)
            was_up, self._links_up[number, port] = self._links_up[number, port], up
            if up == was_up:
                continue
            each = self.agents[self.fabric.switches[number].name]
            self._link_changed[number, port] = each.uptime_seconds
            if self._target is not None and (number, port) in self._far:
                traps.notify(each, self._agent_ports[number], self._target, port, up=up)

    def _boot_agent(self, device: Device) -> None:
        """Begin a switch's own time; its ports come up with it, and those at the far ends of its cables went down."""
        number = self.fabric.index[device.name]
        self.agents[device.name].reboot()
        for port in self._ports[number]:
            self._link_changed.pop((number, port), None)
            far = self._far.get((number, port))
            if far is not None and self._links_up[far]:
                self._link_changed[far] = self.agents[self.fabric.switches[far[0]].name].uptime_seconds

    def _reboot(self, order: dict[str, Any]) -> dict[str, Any]:
        for device in self._named(order.get("switches") or []):
            self._restart(device)
        return {}

    def _console(self, order: dict[str, Any]) -> dict[str, Any]:
        """Open a switch's serial console, and its telnet port, unless they are, and say where they are."""
        (device,) = self._named([str(order.get("switch"))])
        if device.name not in self._lines:
            self._lines[device.name] = lines.Lines(device, self._connections[device.name])
        return {"telnet": f"{LOOPBACK}:{self._lines[device.name].port}", "serial": self._lines[device.name].path}

    def _play(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have a switch answer what was recorded in a transcript of its family, or as itself again."""
        (device,) = self._named([str(order.get("switch"))])
        if not order.get("file"):
            device.transcript = None
            return {"switch": device.name, "model": device.platform.model, "pages": 0}
        transcript = read_transcript(Path(str(order.get("file"))))
        if transcript.family != device.platform.grammar:
            rule = f"a transcript of {device.platform.grammar}, which {device.name} speaks"
            raise InputError([Finding(str(order.get("file")), rule, transcript.family)])
        device.transcript = transcript
        return {"switch": device.name, "model": transcript.model, "pages": len(transcript.pages)}

    def _manner(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have a switch's sessions from now on behave in some manner, or as they do."""
        (device,) = self._named([str(order.get("switch"))])
        name = str(order.get("name") or "")
        about = manners.manner(name, shell=not device.has_modes).about if name else "has no manner of its own"
        device.manner = name
        if device.name in self._lines:
            self._lines[device.name].abort()
        return {"switch": device.name, "manner": name, "about": about}

    def _keep(self, _: dict[str, Any]) -> dict[str, Any]:
        """Remember what every switch runs and starts with, to begin a rehearsal there again and again."""
        self._kept = {name: device.configuration() for name, device in self.devices.items()}
        return {}

    def _restore(self, _: dict[str, Any]) -> dict[str, Any]:
        """Put every switch where it was when that was remembered; faults are mended, no manners left, sessions cut."""
        if not self._kept:
            raise InputError([Finding("restore", "a rack that was told to keep where it stands", "it was not")])
        self.traffic = None
        self._mend({})
        self._strikes.clear()
        for name, kept in self._kept.items():
            self._restart(self.devices[name])
            self.devices[name].configure(kept)
            self.devices[name].manner = ""
        self._settled = None
        self._note_links()
        return {}

    def _reload(self, device: Device) -> None:
        """Restart a switch as soon as its console has answered."""
        asyncio.get_running_loop().call_soon(self._restart, device)

    def _schedule(self, device: Device, minutes: int) -> None:
        """Restart a switch in so many minutes, whatever was scheduled before; 0 = not."""
        if (older := self._reloads.pop(device.name, None)) is not None:
            older.cancel()
        if minutes:
            self._reload_after(device, 60.0 * minutes)

    def _reload_after(self, device: Device, seconds: float) -> None:
        self._reloads[device.name] = asyncio.get_running_loop().call_later(seconds, self._restart, device)

    def _reloads_in(self, device: Device) -> float | None:
        timer = self._reloads.get(device.name)
        return None if timer is None else max(0.0, timer.when() - asyncio.get_running_loop().time())

    def _elapse(self, order: dict[str, Any]) -> dict[str, Any]:
        """Pass time for the agents and for what switches have scheduled: what is due by then restarts now."""
        seconds = float(order.get("seconds") or 0.0)
        for each in self.agents.values():
            each.elapse(seconds)
        restarted = []
        for name in filter(self._reloads.__contains__, self.devices):
            device = self.devices[name]
            left = (self._reloads_in(device) or 0.0) - seconds
            self._schedule(device, 0)
            if left > 0:
                self._reload_after(device, left)
            else:
                self._restart(device)
                restarted.append(name)
        return {"restarted": restarted}

    def _restart(self, device: Device) -> None:
        self._schedule(device, 0)
        device.reboot()
        self._boot_agent(device)
        for port in range(1, device.platform.ports + 1):
            key = device.name, port
            self._zero[key] = self.dataplane.received[key], self.dataplane.sent[key]
        self._hang_up([device.name])
        self._renew("a reboot", device)

    # --- faults and traffic ----------------------------------------------------------------------------------------

    def _fault(self, order: dict[str, Any]) -> dict[str, Any]:
        """Order one fault on one switch; what waits for no line strikes now, or after its time."""
        device = self._named([str(order.get("switch"))])[0]
        fault = Fault.of(order.get("fault") or {})
        if fault.port:
            self._cable(device, fault.port)  # raises where there is none
        if isinstance(self.dataplane, KernelDataplane) and fault.kind in (*AT_CABLES, *BOOTS):
            raise InputError([Finding("fault.kind", "the rack's own data plane (lab up --dataplane frames)", "kernel")])
        if fault.at:
            device.faults.arm(fault)
        else:
            self._later(device, fault.after, partial(self._strike, device, fault, ""))
        return {}

    def _faults(self, _: dict[str, Any]) -> dict[str, Any]:
        """List what waits for its line, what is in effect now, and what has struck so far."""
        on = {
            name: [
                kind for kind, held in (("reboot", d.down), ("refuse-login", d.refusing), ("lock", d.locked)) if held
            ]
            for name, d in self.devices.items()
        }
        for kind, ports in (("cable", self._pulled), ("one-way", self._losing)):
            for at in ports:
                device = self.devices[self.fabric.switches[at[0]].name]
                on[device.name].append(f"{kind} {device.platform.port_name(at[1])}")
        return {
            "waiting": {name: [asdict(f) for f in d.faults.waiting] for name, d in self.devices.items()},
            "in_effect": on,
            "struck": self._strikes,
        }

    def _mend(self, order: dict[str, Any]) -> dict[str, Any]:
        """End all faults of switches (of all, where none is named), those in effect and those that wait."""
        for device in self._named(order.get("switches") or []):
            for timer in self._timers.pop(device.name, []):
                timer.cancel()
            device.faults.mend()
            device.refusing = device.locked = False
            if device.down:
                device.down = False
                self._boot_agent(device)
            number = self.fabric.index[device.name]
            for at in [at for at in self._pulled if at[0] == number]:
                for end in (at, self._far[at]):
                    self._pulled.pop(end, None)
            for at in [at for at in self._losing if at[0] == number]:
                self._losing.pop(at)
            self._renew("a fault was mended", device)
        return {}

    def _later(self, device: Device, seconds: float, what: Callable[[], None]) -> None:
        if seconds:
            self._timers.setdefault(device.name, []).append(asyncio.get_running_loop().call_later(seconds, what))
        else:
            what()

    def _cable(self, device: Device, port_name: str) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return both ends of the cable at a port. Raises InputError where there is none."""
        at = self.fabric.index[device.name], device.platform.port_number(port_name) or 0
        if at not in self._far:
            raise InputError([Finding("fault.port", f"a port of {device.name} with a cable to a switch", port_name)])
        return at, self._far[at]

    def _strike(self, device: Device, fault: Fault, line: str) -> None:
        """Strike with a fault: note it, and begin what lasts."""
        now = asyncio.get_running_loop().time()
        self._strikes.append({"switch": device.name, "kind": fault.kind, "line": line, "clock_seconds": now})
        if fault.kind not in LASTING:
            return
        end: Callable[[], None]
        if fault.kind in BOOTS:
            device.down = bool(fault.lasts)
            end = partial(self._up_again, device)
        elif fault.kind == "cable":
            ends = self._cable(device, fault.port)
            self._pulled |= dict.fromkeys(ends, f"cable {device.name}:{fault.port}")
            end = partial(self._plug, ends)
        elif fault.kind == "one-way":
            at, _ = self._cable(device, fault.port)
            self._losing[at] = f"one-way {device.name}:{fault.port}"
            end = partial(self._plug, (at,))
        else:
            flag = {"refuse-login": "refusing", "lock": "locked"}[fault.kind]
            setattr(device, flag, True)
            end = partial(setattr, device, flag, False)
        if fault.kind in BOOTS:
            if fault.kind == "factory":
                device.reset()
            self._restart(device)
        else:
            self._renew("a fault")
        if fault.lasts:
            self._later(device, fault.lasts, end)

    def _plug_hosts(self, order: dict[str, Any]) -> dict[str, Any]:
        """Unplug all hosts, and plug in those that are listed; what the hosts sent of themselves ends."""
        if not isinstance(self.dataplane, Dataplane):
            raise InputError([Finding("plug", "the rack's own data plane (lab up --dataplane frames)", "kernel")])
        self.traffic = None
        self.fabric = replace(self.fabric, hosts=tuple(map(host_of, order["hosts"])))
        self.dataplane.plug(self.fabric)
        for host in self.fabric.hosts:
            if host.port not in self._ports[host.switch]:
                self._ports[host.switch] = sorted({*self._ports[host.switch], host.port})
                self._links_up[host.switch, host.port] = False
        self._note_links()
        return {}

    def _up_again(self, device: Device) -> None:
        if device.down:
            device.down = False
            self._boot_agent(device)
        self._renew("a reboot", device)

    def _plug(self, ends: Iterable[tuple[int, int]]) -> None:
        for end in ends:
            self._pulled.pop(end, None)
            self._losing.pop(end, None)
        self._renew("a fault has passed")

    def _renew(self, what: str, *devices: Device) -> None:
        """Update the data plane at one stroke: what is broken now, and switches that went down or came up."""
        self._settled = None
        if isinstance(self.dataplane, Dataplane):
            for device in devices:
                self.dataplane.change(device.name, device.forwarding())
            self.dataplane.break_off(self._dead(), self._pulled, self._losing)
            if self.traffic is not None:
                self.traffic.landed(what)
        self._note_links()

    def _changed(self, device: Device) -> None:
        """Update the data plane with what a line on a switch has changed."""
        self._settled = None
        self._note_links(device)
        if self.traffic is not None:
            self.traffic.plane.change(device.name, device.forwarding())
            self.traffic.landed(f"{device.name} {device.last_line}")

    def _traffic(self, order: dict[str, Any]) -> dict[str, Any]:
        """Start, stop or report the hosts' own traffic."""
        what = order.get("order")
        if what not in ("start", "stop", "report"):
            raise InputError([Finding("traffic", "start, stop or report", repr(what))])
        if not isinstance(self.dataplane, Dataplane):
            raise InputError([Finding("traffic", "the rack's own data plane (lab up --dataplane frames)", "kernel")])
        if what == "start":
            self.dataplane.configure(self._states())
            clock = asyncio.get_running_loop().time
            self.traffic = Traffic(self.dataplane, clock, int(order.get("seed") or 0))
            self._ticks()
        if self.traffic is None:
            raise InputError([Finding("traffic", "started before", "never")])
        self.traffic.stop() if what == "stop" else self.traffic.round()
        return self.traffic.report()

    def _ticks(self) -> None:
        """Send a round every few hundredths of a second, as long as hosts send at all."""
        traffic, loop = self.traffic, asyncio.get_running_loop()

        def tick() -> None:
            if traffic is self.traffic and traffic is not None and traffic.running:
                begun = loop.time()
                traffic.round()
                loop.call_later(max(ROUND_SECONDS, _IDLE_SHARE * (loop.time() - begun)), tick)

        tick()

    def _stop(self, _: dict[str, Any]) -> dict[str, Any]:
        self._stopping = True
        return {}

    async def control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client of the control channel, a JSON object a line, until it hangs up."""
        # Cancelled when the loop ends under a client that is still there; asyncio would log that as a fault.
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while line := await reader.readline():
                try:
                    said = self.request(json.loads(line))
                    answer: dict[str, Any] = {"ok": True} | (said if isinstance(said, dict) else await said)
                except InputError as error:
                    answer = {"ok": False, "findings": [finding.to_json() for finding in error.findings]}
                except DeviceError as error:  # the kernel that carries the frames
                    answer = {"ok": False, "findings": [Finding(error.switch, "frames to flow", error.text).to_json()]}
                except (ValueError, TypeError, AttributeError) as error:
                    answer = {"ok": False, "findings": [Finding("order", "a JSON object", str(error)).to_json()]}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
                if self._stopping:  # only now, so that who asked has the answer
                    self.stopped.set()
                    break
        writer.close()


def _far_ends(fabric: Fabric) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the far end of each port that carries a cable, as (switch, port)."""
    return {
        end: far
        for link in fabric.links
        if link.up
        for a, b in link.cables
        for end, far in (((link.a, a), (link.b, b)), ((link.b, b), (link.a, a)))
    }


def agent_address(number: int) -> str:
    """Return the loopback address of switch `number`'s agent: all of 127/8 is this machine (RFC 1122, 3.2.1.3)."""
    return f"127.78.{number // 250}.{number % 250 + 1}"


def _socket_folder() -> Path:
    folder = tempfile.mkdtemp(prefix=SOCKET_FOLDER)
    if len(os.fsencode(folder)) + len("/control") > _MAX_SOCKET_PATH:
        Path(folder).rmdir()
        folder = tempfile.mkdtemp(prefix=SOCKET_FOLDER, dir="/tmp")
    return Path(folder)


async def run(directory: Path) -> None:
    """Run the rack that DIRECTORY/fabric.json orders until it is told to stop, by the control channel or SIGTERM."""
    order = read_order(directory)
    rack = Rack(order, directory / "kernel.log")
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, rack.stopped.set)
    folder = _socket_folder()
    try:
        known_hosts = await rack.start()
        rack.home, rack.socket = directory, str(folder / "control")
        info = rack.info()
        addresses = {name: f"{LOOPBACK}:{port}" for name, port in rack.ports.items()}
        write_inventory(directory, order.fabric, addresses, known_hosts, info.agents, rack.snmp_port)
        control = await asyncio.start_unix_server(rack.control, rack.socket, limit=1 << 24)
        write_info(info)
        await rack.stopped.wait()
        control.close()
        await rack.stop()
    finally:
        (directory / "rack.json").unlink(missing_ok=True)
        shutil.rmtree(folder)
