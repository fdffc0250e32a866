"""Describe the fabric file as a JSON Schema, by which editors complete and check it."""

from __future__ import annotations

from typing import Any

from tagloom.read.fabric_form import FabricForm

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# What each key says, by the definition it stands in.
WORDS = {
    "FabricForm": {
        "name": "The fabric's name.",
        "model": "The model of switches that name none.",
        "shape": "The family that switches, links and hosts are made from.",
        "switches": "What is said of single switches, by name.",
        "hosts": "What is said of single hosts, by name.",
        "links": "Links beside those of the family, or what is said of those.",
        "networks": "Hosts of each isolated network, by its name; the others are the network `default`.",
        "former_networks": "Networks that hosts change, in the files of a rollout's waves; `rollout` writes it.",
        "vlans": "Which VLANs a plan may use.",
        "flow_control": "802.3x on all ports of the fabric.",
        "eee": "802.3az on all ports of the fabric that have it; without it, as the model comes.",
        "firmware": "What firmware differs in, for all switches.",
        "management": "The way by which switches are managed over the fabric's own links.",
        "reserved": "Ports that the fabric may not take, by switch.",
        "returned_ports": "What a rollout makes of ports that it gives back.",
        "spanning_tree": "off: on the whole switch; outside: on at all ports but the fabric's.",
        "renamed": "Switches that had another name in the fabric that runs: old name, new name.",
        "site": "Variables of your own lines.",
    },
    "ShapeForm": {
        "family": "mesh, torus, hypercube, ring, fat-tree, clos, complete, tree or dragonfly.",
        "dims": "The family's sizes; of a grid the first dimension is the fastest.",
        "parallel": "Links between neighbours.",
        "hosts": "Hosts on each switch, in a fat tree on each leaf.",
        "lag": "Whether the parallel links of two neighbours are one aggregated link.",
        "explicit": "Whether the file lists all switches, links and hosts, so that none are made from the family.",
    },
    "SwitchForm": {
        "model": "Its model.",
        "at": "Its place in the family's grid.",
        "address": "Where it is managed: host, or host:port.",
        "state": "down: it is not contacted, and paths go round it.",
        "firmware": "What its firmware differs in.",
        "rack": "Where it is mounted: labels are printed rack by rack.",
        "site": "Variables of your own lines, for this switch.",
    },
    "HostForm": {
        "switch": "The switch it is plugged in.",
        "port": "The port it is plugged in, in the model's words or as gN.",
        "mac": "Its MAC address, which static entries pin; or several.",
        "mac_prefix": "How addresses begin that come and go at its port (virtual machines): `hosts` learns them.",
        "uplink": "Whether its port leads to addresses that nobody knows: a gateway, a campus.",
    },
    "LinkForm": {
        "ends": "Two ends, SWITCH:PORT each; several ports where the link is aggregated.",
        "speed": "Its speed in Mb/s, at most what the ports at its ends have; without it, what both ends can.",
        "state": "down: shut; dead: broken, so that its ports stay open and in no VLAN.",
        "lag": "Whether its cables are one aggregated link; or the numbers of the groups at both ends.",
    },
    "NetworkForm": {
        "hosts": "Hosts whose port carries its frames untagged.",
        "tagged": "Hosts whose port carries its frames tagged with `vlan`, whatever else it carries.",
        "vlan": "The id of its one VLAN, below the plan's; `tagged` needs it.",
        "routing": "Its own routing, in place of the plan's.",
        "links": "The links that it may use, each named by one of its ends; without it, all.",
    },
    "VlansForm": {"first": "The lowest VLAN id that a plan may use."},
    "ManagementForm": {
        "vlan": "The VLAN that switches are managed in.",
        "controller": "The port where the controller is plugged in.",
        "links": "The links that carry it, each named by one of its ends: a tree.",
    },
}


def fabric_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a fabric file.

    What it refuses is refused when the file is read; names of ports and models are only checked there.
    """
    schema = FabricForm.model_json_schema()
    schema = {"$schema": DIALECT, **schema, "title": "tagloom fabric file", "description": "A fabric of switches."}
    for name, part in {"FabricForm": schema, **schema["$defs"]}.items():
        for key, what in WORDS.get(name, {}).items():
            part["properties"][key]["description"] = what
    schema["properties"]["links"]["items"] = {
        "anyOf": [{"$ref": "#/$defs/LinkForm"}, schema["$defs"]["LinkForm"]["properties"]["ends"]]
    }
    share = schema["properties"]["networks"]["patternProperties"]
    for pattern, part in share.items():
        share[pattern] = {"anyOf": [part, schema["$defs"]["NetworkForm"]["properties"]["hosts"]]}
    text, texts = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    host = schema["$defs"]["HostForm"]["properties"]
    host["mac"] |= {"anyOf": [text, texts, {"type": "null"}]}
    host["mac_prefix"] |= {"anyOf": [text, texts]}
    for key in ("flow_control", "eee", "spanning_tree"):  # YAML 1.1 reads a bare on or off as a boolean
        plain = schema["properties"][key]
        said = {word: plain.pop(word) for word in ("description", "default") if word in plain}
        schema["properties"][key] = {"anyOf": [plain, {"type": "boolean"}], **said}
    for key in ("switches", "hosts", "links"):  # a key with nothing below it
        schema["properties"][key]["type"] = [schema["properties"][key]["type"], "null"]
    return schema
