"""Write hosts' addresses and places into the text of a fabric file, and leave every other character as it is."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import yaml

from tagloom.errors import Finding, InputError
from tagloom.platforms.port_names import port_name
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import quoted, word
from tagloom.storage.document import YAML_BYTES, parse_yaml
from tagloom.storage.outputs import write_output
from tagloom.storage.text import decode, read_bytes
from tagloom.storage.whole import write_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tagloom.records.addresses import AddressChange

_INDENT = 2
_BOM = "\ufeff"


class FabricText:
    """The text of a fabric file, its fabric, and where it is; its bytes are kept, to be changed at addresses alone.

    Raises InputError for what is no fabric.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._content = read_bytes(path, "a readable fabric file", YAML_BYTES)
        self.text = decode(self._content, str(path), "a readable fabric file")
        self.fabric = parse_fabric(self.text, str(path))

    def write(self, changes: Collection[AddressChange], output: Path | None = None, *, force: bool = False) -> None:
        """Write these changes into the file, or the file with them to `output`.

        Raises InputError, and leaves the old one as it is.

        So it does where somebody has changed the file since it was read.
        """
        text = with_hosts(self.text, {each.host: each.keys for each in changes}, str(self.path))
        fabric = parse_fabric(text, str(self.path))
        written = {
            host.name: (() if host.invented else host.macs, port_name(fabric, host.switch, host.port))
            for host in fabric.hosts
        }
        for each in changes:
            macs, place = written.get(each.host, ((), ""))
            if macs != each.macs or (each.moved and place != each.where):
                raise InputError(
                    [Finding(str(self.path), f"a file in which {each.host} can be edited", "another host")]
                )
        if read_bytes(self.path, "a readable fabric file", YAML_BYTES) != self._content:
            raise InputError(
                [Finding(str(self.path), "the file as it was read", "changed by somebody else: try again")]
            )
        if self._as_kept(self.text).encode() != self._content:
            raise InputError([Finding(str(self.path), "lines that all end alike", "some with a carriage return")])
        if output is None or output.absolute() == self.path.absolute():
            write_whole(self.path, self._as_kept(text))
        else:
            write_output(output, self._as_kept(text), force=force)

    def _as_kept(self, text: str) -> str:
        """Return a text with the byte order mark and the ends of lines that the file has."""
        mark = _BOM if self._content.startswith(_BOM.encode()) else ""
        return mark + (text.replace("\n", "\r\n") if b"\r\n" in self._content else text)


def with_hosts(text: str, keys: Mapping[str, Mapping[str, str | list[str]]], source: str) -> str:
    """Return the text of a fabric file with these keys of hosts set; `source` names it in findings.

    Only values are replaced or added, at the places where the parser saw their hosts. The new text is read again:
    where it says anything else than the old one with these values, InputError is raised (aliases, merged keys).
    """
    if not keys:
        return text
    document = parse_yaml(text, source)
    edits = _Edits(text)
    if isinstance(document.node, yaml.MappingNode):
        _edit(edits, document.node, keys)
    wanted = copy.deepcopy(document.value)
    if isinstance(wanted, dict):
        hosts = wanted["hosts"] = dict(wanted.get("hosts") or {})
        for name, said in keys.items():
            hosts[name] = {**(hosts.get(name) or {}), **said}
    written = edits.apply()
    try:
        same = parse_yaml(written, source).value == wanted
    except InputError:
        same = False
    if not same:
        hint = "hosts: with a mapping of its own for each host, without aliases"
        raise InputError([Finding(source, hint, "hosts that cannot be edited in their place")])
    return written


class _Edits:
    """Replacements in a text, gathered in the order in which they shall stand where several begin at one place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._made: list[tuple[int, int, str]] = []

    def put(self, start: int, end: int, words: str) -> None:
        """Put words in the place of text[start:end], apart from a colon that stands directly before."""
        glued = start > 0 and self.text[start - 1] in ":?"
        self._made.append((start, end, " " + words if glued and not words.startswith("\n") else words))

    def apply(self) -> str:
        """Return the text with all replacements made."""
        parts, at = [], 0
        for start, end, words in sorted(self._made, key=lambda edit: edit[:2]):
            parts += [self.text[at:start], words]
            at = end
        return "".join([*parts, self.text[at:]])

    def add(self, mapping: yaml.MappingNode, entries: list[str], lines: list[str]) -> None:
        """Add entries behind a mapping's own: `entries` where it is in braces, else `lines` of the same depth."""
        if mapping.flow_style:
            end = mapping.end_mark.index - 1
            while self.text[end - 1] == " ":
                end -= 1
            comma = ", " if mapping.value and self.text[end - 1] not in ",{" else " " if mapping.value else ""
            self.put(end, end, comma + ", ".join(entries))
        else:
            end = self.text.find("\n", _last(mapping).end_mark.index)
            end = len(self.text) if end < 0 else end
            margin = "\n" + " " * mapping.value[0][0].start_mark.column
            self.put(end, end, "".join(margin + line for line in lines))


def _edit(edits: _Edits, root: yaml.MappingNode, keys: Mapping[str, Mapping[str, str | list[str]]]) -> None:
    hosts = _under(root, "hosts")
    known = {key.value: value for key, value in hosts.value} if isinstance(hosts, yaml.MappingNode) else {}
    missing = []
    for name, said in keys.items():
        words = [f"{key}: {_value(value)}" for key, value in said.items()]
        if name not in known:
            missing.append(f"{word(name)}: {{{', '.join(words)}}}")
            continue
        host = known[name]
        if isinstance(host, yaml.MappingNode) and host.value:
            added = []
            for (key, value), both in zip(said.items(), words, strict=True):
                old = _under(host, key)
                if old is None:
                    added.append(both)
                else:
                    edits.put(old.start_mark.index, _end(old), _value(value))
            if added:
                edits.add(host, added, added)
        else:
            edits.put(host.start_mark.index, host.end_mark.index, f"{{{', '.join(words)}}}")
    if not missing:
        return
    block = "".join(f"\n{' ' * _INDENT}{line}" for line in missing)
    if known:
        edits.add(hosts, missing, missing)
    elif root.flow_style:
        flow = f"{{{', '.join(missing)}}}"
        if hosts is None:
            edits.add(root, [f"hosts: {flow}"], [])
        else:
            edits.put(hosts.start_mark.index, hosts.end_mark.index, flow)
    elif hosts is None:
        edits.add(root, [], ["hosts:", *(" " * _INDENT + line for line in missing)])
    else:
        edits.put(hosts.start_mark.index, hosts.end_mark.index, block)


def _value(said: str | list[str]) -> str:
    return quoted(said) if isinstance(said, str) else f"[{', '.join(map(quoted, said))}]"


def _end(node: yaml.Node) -> int:
    """Return where the text of a value ends: of a list in a block, with its last item."""
    end: int = _last(node).end_mark.index
    return end


def _under(mapping: yaml.MappingNode, name: str) -> Any:
    """Return the node of a key, None where the mapping lacks it."""
    return next((value for key, value in mapping.value if key.value == name), None)


def _last(node: yaml.Node) -> yaml.Node:
    """Return the last part of a node whose end the parser knows: of a block, it knows the beginning of what follows."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node
