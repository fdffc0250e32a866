"""The forms of the JSON documents that commands leave for each other: builds, rollouts and settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tagloom.storage.document import Form

Seconds = Annotated[float, Field(ge=0, le=1e9)]
FileName = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]
Index = Annotated[int, Field(ge=0, lt=1 << 31)]
Count = Annotated[int, Field(ge=0, lt=1 << 53)]


class TransientPortForm(Form):
    """The port of a host that is leaving, or has not arrived yet."""

    switch: str
    port: Index


class TransientTagForm(TransientPortForm):
    """A network that a port is leaving or has not joined yet, by the tag of its frames there, 0 for none."""

    tag: Annotated[int, Field(ge=0, le=4094)]
    network: str


class ProofAssumptionsForm(Form):
    """The output of `ProofAssumptions.to_json`."""

    paused: bool = False
    learning: list[Annotated[int, Field(ge=1, le=4094)]] = Field(default_factory=list)
    lossy: bool = False
    spanning: bool = False
    blocked: list[Annotated[list[Index], Field(min_length=2, max_length=2)]] = Field(default_factory=list)
    transient_ports: list[TransientPortForm] = Field(default_factory=list)
    transient_tags: list[TransientTagForm] = Field(default_factory=list)
    keeping: bool = False
    foreign: bool = False
    apart: list[Index] = Field(default_factory=list)


class PrunedForm(Form):
    """A membership in a foreign VLAN that a rollout may change."""

    switch: str
    port: Index
    vlan: Annotated[int, Field(ge=2, le=4094)]


class WaveForm(Form):
    """One wave of rollout.json."""

    name: str
    why: str = ""
    configs: FileName
    switches: list[str] = Field(default_factory=list)
    changes: Count = 0
    proven_states: Count = 0
    drain_seconds: Seconds = 0.0
    expected_seconds: Seconds = 0.0
    downtime_seconds: Seconds = 0.0
    paused: bool = False
    floods: bool = False
    until_up: bool = False
    terms: ProofAssumptionsForm = ProofAssumptionsForm()
    fabrics: list[FileName] = Field(default_factory=list, max_length=2)


class RolloutForm(Form):
    """The form of rollout.json; `save` names switches that are saved before the first wave.

    Between two fabrics, `ports` are the only ports that are changed, by switch, and `left` is the directory with the
    texts of switches that are not changed. `pruned` are the memberships in foreign VLANs that it may change.
    """

    before: FileName
    strategy: str = ""
    waves: list[WaveForm]
    proven_states: Count = 0
    expected_seconds: Seconds = 0.0
    save: list[str] | None = None
    broadcast_duplicates_allowed: bool = False
    downtime_seconds: Seconds = 0.0
    left: FileName | None = None
    ports: dict[str, list[Index]] = Field(default_factory=dict)
    pruned: list[PrunedForm] = Field(default_factory=list)


class GivenBackForm(Form):
    """The form of given-back.json: ports, by switch, that hosts and links of a former fabric had and nobody has now."""

    ports: dict[str, list[Index]]


class RoutesForm(Form):
    """The routes entry of plan.json."""

    method: str
    reason: str


class SummaryForm(Form):
    """The part of the summary in plan.json that is read again."""

    assignment: Literal["fixed", "renamed", "pinned"]
    vlans: Annotated[int, Field(ge=0, le=4094)]
    broadcast: str = "flood"
    remarks: list[str] = Field(default_factory=list)
    protect: Literal["none", "auto", "link", "switch"] = "none"
    taught: bool = False
    protected: Annotated[int, Field(ge=0)] = 0
    unprotected: Annotated[int, Field(ge=0)] = 0
    detour_vlans: Annotated[int, Field(ge=0, le=4094)] = 0
    detour_entries: Annotated[int, Field(ge=0)] = 0
    fdb_entries_max_without: Annotated[int, Field(ge=0)] = 0
    load_after_failure_max: Annotated[int, Field(ge=0)] = 0
    hops_after_failure: Annotated[float, Field(ge=0)] = 1.0


class DetourForm(Form):
    """One failure's detour in plan.json."""

    dead: Annotated[list[str], Field(min_length=1, max_length=2)]
    pvids: dict[str, Annotated[int, Field(ge=1, le=4094)]]
    entries: dict[str, dict[str, Annotated[int, Field(ge=1)]]] = Field(default_factory=dict)
    floods: dict[str, dict[Annotated[str, Field(pattern="^[1-9][0-9]*$")], bool]] = Field(default_factory=dict)


class BuildForm(Form):
    """The part of plan.json that is read again; its format was checked before."""

    routes: RoutesForm
    summary: SummaryForm
    detours: list[DetourForm] = Field(default_factory=list)


class EndsForm(Form):
    """A link, by its two ends."""

    ends: Annotated[list[str], Field(min_length=2, max_length=2)]


class SlowedForm(EndsForm):
    """A link at less than its full speed."""

    mbps: Literal[10, 100, 1000, 2500, 5000, 10000, 25000, 40000, 100000]


class SettingsForm(Form):
    """The part of the settings written by regulate and timetable that is read again."""

    method: str = ""
    off: list[EndsForm]
    slowed: list[SlowedForm] = Field(default_factory=list)
    asleep: list[EndsForm] = Field(default_factory=list)
    sleeping_hosts: list[str] = Field(default_factory=list)
    trees: list[list[Index]] = Field(default_factory=list)
    tree_of_host: list[Index] = Field(default_factory=list)
