"""Read what NetBox's REST interface answers of devices, interfaces, cables and addresses: switches, links and hosts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.platforms.detect import by_text
from tagloom.platforms.port_names import port_number
from tagloom.read.drawn_fabric import MOST_PARTS, Drawing, DrawnHost, DrawnLink, check_model
from tagloom.records.fabric import Switch
from tagloom.records.netbox import KEY
from tagloom.records.settings import STEPS_MBPS
from tagloom.storage.document import checked, read_json, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

T = TypeVar("T", bound=BaseModel)
# What is read of each, and the file that keeps its answer; without those of `OPTIONAL`, less is known.
ENDPOINTS = {
    "devices": "dcim/devices",
    "interfaces": "dcim/interfaces",
    "cables": "dcim/cables",
    "ip-addresses": "ipam/ip-addresses",
}
OPTIONAL = {"cables", "ip-addresses"}
_ABSENT = {"planned", "inventory"}  # statuses of devices that are not in place
_OFF = {"offline", "failed"}


class _Form(BaseModel):
    """What is read of an object; NetBox says much more, and other versions other things."""

    model_config = ConfigDict(frozen=True)


class _Named(_Form):
    """An object that another one names."""

    id: int
    name: str | None = None
    slug: str = ""
    display: str = ""


class _Choice(_Form):
    value: str | int


class _Type(_Form):
    manufacturer: _Named
    model: str
    slug: str


class _Address(_Form):
    address: str


class Device(_Form):
    """A device; up to NetBox 3 its `role` is called device_role."""

    id: int
    name: str | None
    device_type: _Type
    role: _Named | None = None
    device_role: _Named | None = None
    status: _Choice
    primary_ip: _Address | None = None
    local_context_data: dict[str, Any] | None = None

    @property
    def called(self) -> str:
        """Return its name; NetBox lets a device have none."""
        return self.name or f"device-{self.id}"

    @property
    def context(self) -> dict[str, Any]:
        """Return what its local config context says to tagloom."""
        said = (self.local_context_data or {}).get(KEY)
        return said if isinstance(said, dict) else {}


class _Cable(_Form):
    id: int
    label: str = ""

    @property
    def called(self) -> str:
        return self.label or f"#{self.id}"


class _Mac(_Form):
    mac_address: str


class _End(_Form):
    """What a cable leads to: an interface, a port of a panel, a circuit."""

    id: int
    name: str = ""
    display: str = ""
    device: _Named | None = None


class Interface(_Form):
    """An interface; `connected_endpoints` is where its cable leads, through panels too."""

    id: int
    device: _Named
    name: str
    enabled: bool = True
    mgmt_only: bool = False
    speed: int | None = None  # kb/s
    lag: _Named | None = None
    cable: _Cable | None = None
    mac_address: str | None = None
    mac_addresses: list[_Mac] = []
    link_peers: list[_End] = []
    connected_endpoints: list[_End] | None = None
    connected_endpoints_type: str | None = None
    connected_endpoints_reachable: bool | None = None

    @property
    def macs(self) -> tuple[str, ...]:
        """Return its addresses, its primary one first; up to NetBox 4.1 there is one."""
        return tuple(
            dict.fromkeys(filter(None, (self.mac_address, *(each.mac_address for each in self.mac_addresses))))
        )


class CableState(_Cable):
    """A cable of the list of cables: whether it is in place."""

    status: _Choice


class Assigned(_Address):
    """An IP address, and the interface that has it."""

    assigned_object_type: str | None = None
    assigned_object_id: int | None = None


_FORMS: dict[str, type[BaseModel]] = {
    "devices": Device,
    "interfaces": Interface,
    "cables": CableState,
    "ip-addresses": Assigned,
}


@dataclass(frozen=True, slots=True)
class NetBoxAnswers:
    """What NetBox answered, checked; `source` names it in findings."""

    source: str
    devices: dict[int, Device]
    interfaces: dict[int, Interface]
    cables: dict[int, CableState] = field(default_factory=dict)
    addresses: tuple[Assigned, ...] = ()


def read_answers(directory: Path) -> NetBoxAnswers:
    """Return the answers that a directory keeps, a file for each of `ENDPOINTS`. Raises InputError."""
    raw: dict[str, Any] = {}
    found: list[Finding] = []
    for name, endpoint in ENDPOINTS.items():
        path = directory / f"{name}.json"
        if name in OPTIONAL and not path.exists():
            continue
        try:
            raw[name] = read_json(path, f"an answer of NetBox ({endpoint})")
        except InputError as error:
            found += error.findings
    for name, answer in raw.items():
        if isinstance(answer, dict):
            raw[name] = answer.get("results")
            if answer.get("next"):
                found.append(Finding(f"{directory}/{name}.json", "the whole list (?limit=0)", "one page: next is set"))
    if found:
        raise InputError(found)
    return answers_of(raw, str(directory))


def answers_of(raw: Mapping[str, Any], source: str) -> NetBoxAnswers:
    """Return lists of objects, by the names of `ENDPOINTS`, checked. Raises InputError with all findings."""
    lists: dict[str, list[Any]] = {}
    found: list[Finding] = []
    for name, form in _FORMS.items():
        try:
            lists[name] = checked(TypeAdapter(list[form]), raw.get(name, []), f"{source}/{name}")  # type: ignore[valid-type]
        except InputError as error:
            found += error.findings
    if sum(map(len, lists.values())) > MOST_PARTS:
        found.append(Finding(source, f"at most {MOST_PARTS:,} objects", "more"))
    if found:
        raise InputError(found)
    devices, interfaces, cables = ({each.id: each for each in lists[n]} for n in ("devices", "interfaces", "cables"))
    return NetBoxAnswers(source, devices, interfaces, cables, tuple(lists["ip-addresses"]))


def drawing_of_netbox(answers: NetBoxAnswers, name: str, model: str | None = None) -> Drawing:
    """Return the fabric that NetBox documents.

    A switch is a device of a type that tagloom knows, or in a role with "switch" in its name, `model` being that of
    those whose type is not known. What a switch is cabled to, and is none, is a host: each of its interfaces one. Ports
    whose cables lead out of what was read are reserved, and remarked.
    """
    drawing = Drawing(answers.source, name)
    switches: dict[int, str] = {}
    names = Counter(device.called for device in answers.devices.values())
    for device in answers.devices.values():
        known = _model(device, model)
        if not known and "switch" not in _role(device):
            continue
        if device.status.value in _ABSENT:
            drawing.remark(device.called, "a switch that is in place", f"{device.status.value}: it is left out")
        elif names[device.called] > 1:
            drawing.find(device.called, "one device of this name", f"{names[device.called]} of them")
        elif not known:
            said = f"{device.device_type.manufacturer.name} {device.device_type.model}"
            expected = f"a switch of a model that tagloom knows, --model M, or {KEY}.model in its config context"
            drawing.find(device.called, expected, said)
        else:
            check_model(drawing, device.called, known)
            up, address = device.status.value not in _OFF, _address(answers, device)
            drawing.switches[device.called] = Switch(device.called, known, address=address, up=up)
            switches[device.id] = device.called
    _Cabling(answers, drawing, switches).read()
    return drawing


def _role(device: Device) -> str:
    role = device.role or device.device_role
    return f"{role.slug} {role.name}".lower() if role else ""


def _model(device: Device, otherwise: str | None) -> str:
    """Return a switch's model: what its context says, what its type is, else `otherwise` in a role of switches."""
    kind = device.device_type
    said = device.context.get("model")
    if isinstance(said, str):
        return said
    if exact := next((word for word in (kind.slug, kind.model) if platforms.is_model(word)), ""):
        return exact
    seen = by_text(f"{kind.manufacturer.name} {kind.model}").models
    return seen[0] if seen else (otherwise or "") if "switch" in _role(device) else ""


def _address(answers: NetBoxAnswers, device: Device) -> str:
    """Return where a switch is managed: its primary address, or the only one of its interfaces; "" for none."""
    if device.primary_ip:
        return device.primary_ip.address.partition("/")[0]
    own = {
        each.address.partition("/")[0]
        for each in answers.addresses
        if each.assigned_object_type == "dcim.interface"
        and (at := answers.interfaces.get(each.assigned_object_id or 0))
        and at.device.id == device.id
    }
    return own.pop() if len(own) == 1 else ""


class _Cabling:
    """Follow the cables of all switches."""

    def __init__(self, answers: NetBoxAnswers, drawing: Drawing, switches: Mapping[int, str]) -> None:
        self._answers, self._drawing, self._switches = answers, drawing, switches
        self._cables: dict[tuple[int, int, int, int], list[tuple[Interface, Interface]]] = {}
        self._plugs: dict[int, list[tuple[Interface, Interface]]] = {}  # device -> its interface, the switch's

    def read(self) -> None:
        """Add links, hosts and reserved ports to the drawing."""
        for here in self._answers.interfaces.values():
            if here.device.id in self._switches and not here.mgmt_only and (here.cable or here.connected_endpoints):
                self._follow(here)
        for (_, near, _, far), cables in self._cables.items():
            bound = [cables] if near and far else [[each] for each in cables]
            for some in bound:
                self._link(some, aggregated=bool(near and far))
        for device, plugs in self._plugs.items():
            self._host(device, plugs)

    def _where(self, at: Interface) -> str:
        return f"{self._switches.get(at.device.id) or at.device.name}:{at.name}"

    def _port(self, at: Interface) -> str:
        """Return a switch's port in its model's own words, or as NetBox has it where the model has no such port."""
        switch = self._drawing.switches[self._switches[at.device.id]]
        if not platforms.is_model(switch.model):
            return at.name
        number = port_number(platforms.load(switch.model), at.name)
        return platforms.load(switch.model).port_name(number) if number else at.name

    def _follow(self, here: Interface) -> None:
        """Note where the cable of a switch's port leads; what leads nowhere is remarked, and its port reserved."""
        ends = here.connected_endpoints or []
        to_port = ends and here.connected_endpoints_type == "dcim.interface"
        far = self._answers.interfaces.get(ends[0].id) if to_port else None
        outside = partial(self._leave_out, here)
        if not ends:
            peers = ", ".join(f"{(each.device and each.device.name) or '?'}:{each.name}" for each in here.link_peers)
            outside("a cable to another port", f"{self._cable(here)} {f'ends at {peers}' if peers else 'to nowhere'}")
        elif here.connected_endpoints_reachable is False:
            if far is None or far.device.id not in self._switches or here.id < far.id:  # once for both ends
                outside("a cable in place", f"{self._cable(here)}, which is not", reserve=False)
        elif len(ends) > 1:
            outside("one port at the other end", f"{self._cable(here)} with {len(ends)}")
        elif far is None or far.device.id not in self._answers.devices:
            device = (ends[0].device and ends[0].device.name) or here.connected_endpoints_type
            outside("a cable to a device that was read", f"{device}:{ends[0].name or ends[0].display}")
        elif far.device.id in self._switches:
            if here.id < far.id:
                near, other = (here.lag.id if here.lag else 0), (far.lag.id if far.lag else 0)
                self._cables.setdefault((here.device.id, near, far.device.id, other), []).append((here, far))
        elif self._answers.devices[far.device.id].status.value in _ABSENT:
            outside("a device in place", f"{far.device.name}, which is not", reserve=False)
        elif here.lag is not None:
            outside("hosts at single ports", f"{far.device.name} at {here.lag.name}")
        else:
            self._plugs.setdefault(far.device.id, []).append((far, here))

    def _leave_out(self, here: Interface, expected: str, actual: str, *, reserve: bool = True) -> None:
        self._drawing.remark(self._where(here), expected, f"{actual}: {'reserved' if reserve else 'left out'}")
        if reserve:
            self._drawing.reserved[self._switches[here.device.id], self._port(here)] = None

    def _cable(self, here: Interface) -> str:
        if here.cable is None:
            return "no cable"
        state = self._answers.cables.get(here.cable.id)
        return f"cable {here.cable.called}" + (f" ({state.status.value})" if state is not None else "")

    def _link(self, cables: list[tuple[Interface, Interface]], *, aggregated: bool) -> None:
        """Add a link of one cable, or of several that both ends bind."""
        near, far = cables[0]
        ends = tuple(
            (self._switches[cables[0][end].device.id], tuple(self._port(each[end]) for each in cables))
            for end in (0, 1)
        )
        speeds = {each.speed // 1000 for pair in cables for each in pair if each.speed}
        up = all(each.enabled for pair in cables for each in pair)
        lags = (near.lag.name or "", far.lag.name or "") if aggregated and near.lag and far.lag else None
        where = f"{self._where(near)} - {self._where(far)}"
        if not speeds <= set(STEPS_MBPS):
            self._drawing.find(where, f"a speed in kb/s, of {', '.join(map(str, STEPS_MBPS))} Mb/s", shown(speeds))
        self._drawing.links.append(DrawnLink(where, (ends[0], ends[1]), min(speeds, default=0), up, lags=lags))

    def _host(self, device: int, plugs: list[tuple[Interface, Interface]]) -> None:
        """Add a host for each interface of a device; its own name is the first's that carries traffic."""
        known = self._answers.devices[device]
        first = next((own for own, _ in plugs if not own.mgmt_only), plugs[0][0])
        for own, at in plugs:
            name = known.called if own is first else f"{known.called}-{own.name}"
            uplink = known.context.get("uplink") is True
            macs = tuple(mac for text in own.macs if (mac := self._drawing.mac(name, text)))
            if not own.macs and not uplink:
                expected = "a MAC address (tagloom hosts learn finds it)"
                self._drawing.remark(f"{known.called}:{own.name}", expected, "none: one is made up")
            switch = self._switches[at.device.id]
            if name in self._drawing.hosts:
                self._drawing.find(name, "one host of this name", "two")
            self._drawing.hosts[name] = DrawnHost(name, switch, self._port(at), macs, uplink)
