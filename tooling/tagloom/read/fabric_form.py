"""The form of a fabric file: its keys, their types, their ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, PlainValidator, field_validator
from pydantic_core import PydanticCustomError

from tagloom import platforms
from tagloom.errors import nearest
from tagloom.platforms.detect import model_named
from tagloom.read.families import family_named

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_MODEL = "powerconnect-5324"
# Names become file names, Ansible hosts and words on a command line.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
Name = Annotated[str, Field(pattern=NAME)]
Model = Annotated[str, AfterValidator(model_named)]


class Form(BaseModel):
    """What every part has in common: no key but its own, no value taken for another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ShapeForm(Form):
    """The family."""

    family: Annotated[str, AfterValidator(family_named)]
    dims: list[int]
    parallel: int = Field(1, ge=1, le=64)
    hosts: int = Field(1, ge=0, le=512)
    lag: bool = False
    explicit: bool = False


class SwitchForm(Form):
    """What is said of one switch."""

    model: Model | None = None
    at: list[int] | None = None
    address: str | None = None
    rack: str | None = None
    state: Literal["up", "down"] = "up"
    firmware: dict[str, str] = {}
    site: dict[str, JsonValue] = {}


def _texts(said: object) -> list[str]:
    """Return a text, or several, as a list."""
    said = said if isinstance(said, list) else [said]
    texts = [text for text in said if isinstance(text, str)]
    if len(texts) < len(said):
        raise PydanticCustomError("string_type", "a text, or a list of texts")
    return texts


BONDED = frozenset({"bond", "bonded", "bonding", "lacp", "lag", "ports", "switches", "team"})  # words of other tools
ONE_CABLE = "one switch and one port; each card of a bonded host is a host of its own (tagloom docs hosts)"


class HostForm(Form):
    """What is said of one host."""

    switch: str | None = None
    port: str | None = None
    mac: Annotated[list[str], PlainValidator(_texts)] | None = None
    mac_prefix: Annotated[list[str], PlainValidator(_texts)] = []
    uplink: bool = False

    @field_validator("switch", "port", mode="before")
    @classmethod
    def _one_cable(cls, said: object) -> object:
        if isinstance(said, list):
            raise PydanticCustomError("one_cable", ONE_CABLE)
        return said


class LinkForm(Form):
    """One link; an end is a port, or several where the link is aggregated."""

    ends: list[str | list[str]] = Field(min_length=2, max_length=2)
    speed: Literal[10, 100, 1000, 2500, 5000, 10000, 25000, 40000, 100000] | None = None
    state: Literal["up", "down", "dead"] = "up"
    lag: bool | int | list[int] = False


class NetworkForm(Form):
    """One network: its hosts, and what it does not share with the others."""

    hosts: list[str] = []
    tagged: list[str] = []
    vlan: int | None = Field(None, ge=2, le=4094)
    routing: str | None = None
    links: list[str] | None = None


class VlansForm(Form):
    """Which VLANs a plan may use."""

    first: int = Field(default=100, ge=2, le=4000)


class ManagementForm(Form):
    """The way by which switches are managed over the fabric's own links, each named by one of its ends."""

    vlan: int = Field(ge=2, le=4094)
    controller: str
    links: list[str]


class FabricForm(Form):
    """The whole file. Among `links`, None stands for one that could not be read: the others keep their number."""

    name: Name = "fabric"
    model: Model = DEFAULT_MODEL
    shape: ShapeForm | None = None
    switches: dict[Name, SwitchForm | None] = {}
    hosts: dict[Name, HostForm | None] = {}
    links: list[LinkForm | None] = []
    networks: dict[Name, NetworkForm] = {}
    former_networks: dict[Name, list[str]] = {}
    vlans: VlansForm = VlansForm()
    flow_control: Literal["on", "off"] = "off"
    eee: Literal["on", "off"] | None = None
    firmware: dict[str, str] = {}
    management: ManagementForm | None = None
    reserved: dict[Name, list[str]] = {}
    returned_ports: Literal["isolated", "factory", "shut"] = "isolated"
    spanning_tree: Literal["off", "outside"] = "off"
    renamed: dict[Name, Name] = {}
    site: dict[str, JsonValue] = {}


_PARTS: dict[str, type[Form]] = {
    "shape": ShapeForm,
    "switches": SwitchForm,
    "hosts": HostForm,
    "links": LinkForm,
    "networks": NetworkForm,
    "vlans": VlansForm,
    "management": ManagementForm,
}


def expected_key(path: tuple[str | int, ...]) -> str:
    """Return what a finding expects where the key at `path` is none of the file's: the nearest one, if any is near.

    Of a host whose cards are said to be bonded, it is what to write instead.
    """
    if path[0] == "hosts" and str(path[-1]) in BONDED:
        return ONE_CABLE
    part = FabricForm if len(path) == 1 else _PARTS.get(str(path[0]), FabricForm)
    return f"a key the fabric file has{nearest_name(str(path[-1]), part.model_fields)}"


def nearest_name(word: str, known: Iterable[str]) -> str:
    """Return the word of `known` that `word` may stand for, as the end of what is expected; "" where none is near.

    >>> nearest_name("paralel", ["parallel", "hosts"])
    ' (did you mean parallel?)'
    >>> nearest_name("5324", ["powerconnect-5324", "powerconnect-6224"])
    ' (did you mean powerconnect-5324?)'
    """
    words = list(known)
    return nearest(word, words) or next(
        (f" (did you mean {each}?)" for each in words if word and each.endswith(word)), ""
    )


def one_model(word: str) -> str:
    """Return what a finding expects where `word` is no model: all of them, and the one that it may stand for."""
    models = platforms.models()
    return f"one of {', '.join(models)}{nearest_name(word, models)}"


def plain_words(kind: str, message: str) -> str:
    """Return what the validator expected without the validator's grammar."""
    words = {
        "int_type": "a whole number",
        "string_type": "text (quote it)",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "missing": "this key",
        "string_pattern_mismatch": "a name of letters, digits, dot, hyphen, underscore",
        "too_short": "two ends",
        "too_long": "two ends",
    }
    said = message.removeprefix("Input should be ")
    return words.get(kind, said[0].lower() + said[1:])
