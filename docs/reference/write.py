"""Write the reference pages from the code: `python docs/reference/write.py`."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import sys
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tagloom import pipeline, read, share
from tagloom.adapters.clock_metrics import ClockMetrics
from tagloom.adapters.exporter import Exporter
from tagloom.cli import main as command_line
from tagloom.cli import parser
from tagloom.cli.words import EXAMPLES
from tagloom.lab import process
from tagloom.read.fabric_schema import WORDS, fabric_schema
from tagloom.records.reweave import ReweaveStatus
from tagloom.records.timetable import ClockStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
FROM = "Written by `python docs/reference/write.py` from the code."
COMMON = {"help", "json", "verbose", "version"}  # options that every command has
MATRIX = HERE.parents[1] / "tests" / "data" / "npb" / "lu.S.16.matrix.csv"
# Commands that reach no switch, in an order in which each finds what those before it wrote.
ANSWERED = [
    "init rack --switches 4",
    "paths",
    "docs vault",
    "explain storm",
    "new torus --dims 4 4 --parallel 2 -o fabric.yml",
    "plan fabric.yml -o build",
    "verify build",
    "path h0 h5 --build build",
    f"regulate fabric.yml --traffic {MATRIX} -o night.json",
    "plan fabric.yml --settings night.json --previous build -o night",
    "rollout build night -o change",
    f"predict build --traffic {MATRIX} --seconds 60 --settings night.json",
    "report build -o report.html",
    "eee --phy 1000BASE-T --load 0.1 --idle-timeout 0",
]
# Commands that reach switches: of a rack of four. Learning and looking come before what changes them.
REACHING = [
    "lab up square.yml",
    "lab add square.yml",
    "lab ping",
    "adopt -i inventory/lab -o adopted.yml",
    "apply square --allow interrupt",
    "status",
    "observe -o history.db",
    "discover -i inventory/lab -o found.yml",
    "hosts learn square.yml --check",
    "backup -o kept",
    "repair --check",
    "rollback --allow interrupt",
    "lab down",
]
API = """# Python API

{FROM} What others may call; the rest may change with any release. Records
are frozen; errors are those of `tagloom.errors`: `InputError` (all findings), `PlanError` (rule, witness, way out), and
`DeviceError`.

```python
{EXAMPLE}```
"""
API_EXAMPLE = """from pathlib import Path

from tagloom import pipeline, read
from tagloom.share import share_directory

fabric = read.read_fabric(Path("fabric.yml"))
build, proof, texts = pipeline.plan(fabric, share_directory() / "templates")
assert proof.proven
pipeline.write_build(build, proof, texts, Path("api-build"))
print(pipeline.summary_of(build, proof)["vlans"], "VLANs")
"""
EXITS = """| status | means |
|---|---|
| 0 | good |
| 1 | the answer is no: a proof failed, something differs, something is dead, or it was refused |
| 2 | bad input: all findings at once, `where: expected X, actual Y`, and nothing was changed |
| 3 | a device failed: it is named, with the command and its answer; the others were served |
| 130 | interrupted by Ctrl-C |

With `--json`, one object stands on standard output and nothing else; findings are in `findings`, each with `where`,
`expected` and `actual`. Whatever does not end with 0 names the page to read in its last line on standard error, as the
command that shows it (`tagloom docs PAGE`); where a command could not answer at all, also in `pages`.
"""


def main() -> int:
    """Write every page beside this file."""
    for name, text in pages():
        (HERE / name).write_text(text, "utf-8")
    return 0


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page's name and text."""
    yield "commands.md", commands()
    yield "exit-status.md", f"# Exit status\n\n{FROM}\n\n{EXITS}"
    yield "fabric-keys.md", fabric_keys()
    yield "fabric.schema.json", json.dumps(fabric_schema(), indent=2) + "\n"
    yield "json-keys.md", json_keys()
    yield "metrics.md", metrics()
    yield "python-api.md", python_api()


def cell(words: str) -> str:
    """Return words as they stand in a cell of a table."""
    return " ".join(words.split()).replace("|", r"\|").replace("*", r"\*").replace("<", r"\<")


def commands() -> str:
    """Return the page of every command's arguments."""
    lines = ["# Commands and their options", "", FROM, ""]
    lines += ["Every command has `--help`, `--json` (one JSON object and nothing else on standard output) and `-v`", ""]
    lines[-2] += " (more detail)."
    for name, command in below(parser(), ""):
        what, _, listed = (command.description or "").split("\n\nexample:")[0].partition("\n\n")
        lines += [f"## tagloom {name}", "", cell(what), "", f"    {EXAMPLES.get(name, f'tagloom {name}')}", ""]
        words = [line.split(maxsplit=1) for line in listed.splitlines()]
        lines += (
            ["| word | |", "|---|---|", *(f"| `{word}` | {cell(about)} |" for word, about in words), ""]
            if words
            else []
        )
        rows = [row(action) for action in command._actions if action.dest not in COMMON]  # noqa: SLF001 - as argparse
        lines += ["| argument | |", "|---|---|", *rows, ""] if rows else []
    return "\n".join(lines)


def below(command: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each command that ends the command line, with its name."""
    branches = [a for a in command._actions if isinstance(a, argparse._SubParsersAction)]  # noqa: SLF001 - as above
    for word, one in branches[0].choices.items() if branches else ():
        yield from below(one, f"{name} {word}".strip())
    if not branches:
        yield name, command


def row(action: argparse.Action) -> str:
    """Return an argument as a row of a table."""
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    value = metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    takes = "" if action.nargs == 0 else f" {value}"
    names = [f"`{option}{takes}`" for option in action.option_strings] or [f"`{value}`"]
    return f"| {', '.join(names)} | {cell(action.help or '')} |".replace(value, value.replace("|", r"\|"))


def fabric_keys() -> str:
    """Return the page of the fabric file's keys."""
    schema = fabric_schema()
    lines = ["# Keys of the fabric file", "", FROM, "", "`tagloom schema -o fabric.schema.json` writes the JSON Schema"]
    lines[-1] += " ([here](fabric.schema.json)). An editor with a YAML language server checks and completes a file"
    lines += ["whose first line is `# yaml-language-server: $schema=fabric.schema.json`.", ""]
    titles = {"FabricForm": "The whole file", "ShapeForm": "shape", "SwitchForm": "switches.NAME"}
    titles |= {
        "HostForm": "hosts.NAME",
        "LinkForm": "links[N]",
        "NetworkForm": "networks.NAME",
        "VlansForm": "vlans",
        "ManagementForm": "management",
    }
    for form, title in titles.items():
        part = schema if form == "FabricForm" else schema["$defs"][form]
        lines += [f"## {title}", "", "| key | type | default | |", "|---|---|---|---|"]
        for key, value in part["properties"].items():
            default = value.get("default", "required" if key in part.get("required", ()) else "")
            shown = default if isinstance(default, str | int) and default != "" else ""
            lines.append(f"| `{key}` | {cell(type_of(value))} | {shown} | {cell(WORDS[form][key])} |")
        lines.append("")
    return "\n".join(lines)


def type_of(value: dict[str, Any]) -> str:
    """Return what a key takes, in words."""
    if "enum" in value:
        return " or ".join(map(str, value["enum"]))
    if "anyOf" in value:
        found = dict.fromkeys(type_of(each) for each in value["anyOf"] if each.get("type") != "null")
        return ", ".join(
            each for each in found if each != "yes or no" or len(found) == 1 or value.get("title") == "Lag"
        )
    if "$ref" in value:
        return "a mapping"
    words = {"string": "text", "integer": "a whole number", "array": "a list", "object": "a mapping"}
    kind = value.get("type", "")
    return {**words, "boolean": "yes or no"}.get(kind[0] if isinstance(kind, list) else kind, "anything")


def json_keys() -> str:
    """Return the page of the keys that commands answer, of those that reach no switch, from their answers."""
    lines = [
        "# JSON keys",
        "",
        f"{FROM} Keys and types are those of real answers, on the 4x4 torus of the tutorial;",
        "",
    ]
    lines[-2] += " null there stands for what this run did not have. Those that reach switches reached a rack of four."
    found: dict[str, dict[str, str]] = {}
    with TemporaryDirectory() as place, chdir(place), ExitStack() as left:
        left.callback(end_racks, Path(place))
        for line in (*ANSWERED, "new mesh --dims 2 2 -o square.yml", "plan square.yml -o square", *REACHING):
            said = StringIO()
            with redirect_stdout(said), redirect_stderr(StringIO()):
                command_line([*line.split(), "--json"])
            keys = {key: kind_of(value) for key, value in json.loads(said.getvalue()).items()}
            name = " ".join(line.split()[: 2 if line.split()[0] in {"lab", "hosts"} else 1])
            found[name] = found.get(name, {}) | keys
    for name, keys in found.items():
        lines += [f"## tagloom {name}", "", "| key | type |", "|---|---|"]
        lines += [*(f"| `{key}` | {keys[key]} |" for key in sorted(keys)), ""]
    return "\n".join(lines)


def end_racks(place: Path) -> None:
    """End what a command that failed may have left running."""
    for info in place.rglob("rack.json"):
        process.down(info.parent)


def kind_of(value: object) -> str:
    """Return the type of a value in JSON, with the keys of an object and of a list's first one."""
    if isinstance(value, list):
        return f"list of {kind_of(value[0])}" if value else "list"
    if isinstance(value, dict):
        named = all(key.isidentifier() for key in value) and len(value) <= 12
        return f"object: {', '.join(f'`{key}`' for key in value)}" if value and named else "object"
    kinds = {bool: "true or false", int: "number", float: "number", str: "text"}
    return kinds.get(type(value), "null")


def python_api() -> str:
    """Return the page of what others may call: each function with its words, from its own docstring."""
    lines = [API.replace("{FROM}", FROM).replace("{EXAMPLE}", API_EXAMPLE)]
    for module in (pipeline, read, share):
        public = getattr(module, "__all__", ["share_directory"])
        lines += [f"## {module.__name__}", "", (module.__doc__ or "").splitlines()[0], ""]
        for name in sorted(public):
            each = getattr(module, name)
            if callable(each):
                shown = re.sub(r"<function .*? at 0x\w+>", "...", str(inspect.signature(each)))
                shown = re.sub(r"(: |-> )'([^']*)'", r"\1\2", shown)
                words = (inspect.getdoc(each) or "").partition(">>>")[0].strip()
                words = re.sub(r"(?m)(^\w+ {2,}.*\n?(^ {2,}.*\n?)*)+", r"```text\n\g<0>\n```\n", words)
                lines += [f"### {name}", "", "```python", f"{name}{shown}", "```", "", words, ""]
    return "\n".join(lines)


def metrics() -> str:
    """Return the page of the metrics that Prometheus is shown."""
    lines = ["# Metrics", "", FROM, ""]
    exporter = Exporter(("127.0.0.1", 0))
    exporter.show({}, 0)
    clock = ClockMetrics(None, None)
    sample = ClockStatus(0.0, (), "", False, 0, 0.0, 0.0, 0.0, 0, 0.0, 0, 0, reweave=ReweaveStatus(gain=0.0))
    clock.show(sample)
    for title, collector in (("tagloom observe --metrics-port", exporter), ("tagloom run --metrics-port", clock)):
        lines += [f"## {title}", "", "| metric | type | labels | |", "|---|---|---|---|"]
        for metric in collector.collect():
            name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            labels = ", ".join(f"`{label}`" for label in getattr(metric, "_labelnames", ()))
            lines.append(f"| `{name}` | {metric.type} | {labels} | {cell(metric.documentation)} |")
        lines.append("")
    exporter.close()
    return "\n".join(lines)


if __name__ == "__main__":
    os.environ["NO_COLOR"] = "1"
    sys.exit(main())
