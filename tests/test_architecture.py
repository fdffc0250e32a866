"""The house: rooms fall straight down, no verb imports another, wires and prints stay in their files."""

import ast
import re
from functools import cache
from itertools import pairwise

import pytest

from fabrics import ROOT

PACKAGE = ROOT / "tooling" / "tagloom"
VERBS = {"read", "route", "weave", "verify", "render", "rollout", "apply", "observe", "regulate", "predict", "measure"}
# A room may import the rooms named here, and itself; nothing else of tagloom.
GROUND = {"errors", "units", "storage", "plain_text"}
MAY = {
    "plain_text": set(),
    "errors": {"plain_text"},
    "units": set(),
    "share": set(),
    "storage": {"errors"},
    "records": GROUND,
    "platforms": GROUND | {"records", "share"},  # the words of a family stand where an operator looks for them
    "graph": {"errors", "units", "records"},  # array algorithms that many verbs share
    **{verb: GROUND | {"records", "graph", "platforms"} for verb in VERBS},
    "report": GROUND | {"records", "graph", "platforms", "apply"},  # apply's outcomes are shown to people
    "adapters": GROUND | {"records", "platforms"},
    "lab": GROUND | {"records", "platforms", "render", "read"},  # a switch prints its configuration, and reads a fabric
    "pipeline": GROUND | {"records", "graph", "platforms"} | VERBS,
    # above the pipeline, which plans and proves what operate brings to the switches
    "operate": GROUND | {"records", "graph", "platforms", "pipeline"} | VERBS,
    "demo": GROUND
    | {"records", "graph", "platforms", "read", "regulate", "predict", "report", "pipeline", "operate", "lab", "apply"},
    "cli": GROUND
    | {
        "records",
        "platforms",
        "read",
        "observe",
        "regulate",
        "predict",
        "measure",
        "report",
        "pipeline",
        "operate",
        "lab",
        "apply",
        "demo",
        "share",
        "adapters",
    },
}
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def parsed(path):
    return ast.parse(path.read_text("utf-8"))


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes(path):
    return list(ast.walk(parsed(path)))


@cache
def imports(path):
    """List the modules that a file imports anywhere in it."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            ours = node.module == "tagloom"
            found += [f"{node.module}.{alias.name}" for alias in node.names] if ours else [node.module]
    return found


def test_rooms_fall_straight_down():
    upward = []
    for path in FILES:
        room = room_of(path)
        for name in imports(path) if room != "__init__" else ():
            parts = name.split(".")
            if parts[0] == "tagloom" and len(parts) > 1 and parts[1] != "__version__":
                upward += [f"{path}: {room} must not import {name}"] * (parts[1] not in MAY[room] | {room})
    assert upward == []


@pytest.mark.parametrize(
    ("library", "only"),
    [
        ("netmiko", ("adapters/ssh.py", "adapters/channels.py", "adapters/steady_clock.py")),
        ("pysnmp", "adapters/snmp"),
        ("asyncssh", "lab/"),
        ("ansible", "nowhere"),
    ],
)
def test_wires_have_one_door(library, only):
    for path in FILES:
        if any(name.split(".")[0] == library for name in imports(path)):
            assert str(path.relative_to(PACKAGE)).startswith(only)


def test_only_the_command_line_prints_or_reads_the_environment():
    for path in FILES:
        place = str(path.relative_to(PACKAGE))
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                assert place == "cli/screen.py", f"{place} prints"
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
                # the rack's process starts with the environment of the command that starts it
                assert room_of(path) == "cli" or place == "lab/process.py", f"{place} reads the environment"


def test_the_first_line_of_every_file_says_its_one_job():
    firsts = {path: path.read_text("utf-8").splitlines()[0] for path in FILES}
    assert [path for path, first in firsts.items() if not re.fullmatch(r'"""[^"].*\.(""")?', first)] == []


LONGEST_FUNCTION = 80  # lines


def test_a_function_of_more_than_80_lines_has_its_reason_beside_it():
    without = []
    for path in FILES:
        lines = path.read_text("utf-8").splitlines()
        for node in nodes(path):
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and node.end_lineno - node.lineno >= LONGEST_FUNCTION
            ):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if "  # noqa: " not in lines[node.lineno - 1] and not lines[first - 2].startswith("#"):
                    without.append(f"{path}: {node.name}")
    assert without == []


# From a command to what it ends with, file by file; each names the word by which it calls or names the next one.
T = "tooling/tagloom/"
FOLLOWED = {
    "plan": [
        (T + "cli/planning.py", "plan"),
        (T + "pipeline/planning.py", "route"),
        (T + "route/choose.py", ""),
        (T + "pipeline/planning.py", "weave"),
        (T + "weave/assign.py", ""),
        (T + "pipeline/planning.py", "render"),
        (T + "render/fabric_texts.py", "render_configuration"),
        (T + "render/command_line.py", "configuration"),
        (T + "render/modes.py", ""),
        (T + "pipeline/planning.py", "verify"),
        (T + "verify/prove.py", ""),
        (T + "cli/planning.py", "write_build"),
        (T + "pipeline/files.py", "write_build"),
        (T + "read/build_directory.py", ""),
    ],
    "regulate": [
        (T + "cli/regulating.py", "regulate"),
        (T + "pipeline/planning.py", "choose_settings"),
        (T + "regulate/choose.py", ""),
        (T + "cli/regulating.py", "to_json"),
        (T + "regulate/settings_file.py", ""),
    ],
    "apply": [
        (T + "cli/applying.py", "look_and_apply"),
        (T + "operate/apply.py", "push"),
        (T + "operate/waves.py", "do"),
        (T + "apply/playbook.py", "apply"),
        ("playbooks/apply.yml", "tagloom_apply"),
        ("roles/tagloom_apply/tasks/main.yml", "job.yml"),
        ("roles/tagloom_apply/tasks/job.yml", "tagloom_push"),
        ("roles/tagloom_apply/action_plugins/tagloom_push.py", "configure_one"),
        (T + "operate/one_switch.py", "configure_switch"),
        (T + "apply/switch.py", "send"),
        (T + "apply/session.py", "send"),
        (T + "adapters/ssh.py", ""),
    ],
}
FILES_FOLLOWED = 12  # at most, from a command to the switch


def named_in(path):
    """Give the words by which a file calls or names others: functions it calls, what a playbook or a string names."""
    if path.suffix == ".yml":
        return set(path.read_text("utf-8").replace(":", " ").split())
    calls = {node.func for node in nodes(path) if isinstance(node, ast.Call)}
    strings = {node.value for node in nodes(path) if isinstance(node, ast.Constant)}
    return strings | {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


@cache
def renamed():
    """Return other names that files import things by, for each last word of the module they are from."""
    found = {}
    for file in FILES:
        for node in nodes(file):
            if isinstance(node, ast.ImportFrom):
                names = {alias.asname for alias in node.names if alias.asname}
                found.setdefault((node.module or "").rpartition(".")[2], set()).update(names)
    return found


def defined_in(path):
    """Return the words that a file can be called by: its functions and itself."""
    every = nodes(path) if path.suffix == ".py" else []
    functions = {node.name for node in every if isinstance(node, ast.FunctionDef)}
    return functions | renamed().get(path.stem, set()) | set(path.parts) | {path.stem}


@pytest.mark.parametrize("command", FOLLOWED)
def test_a_command_is_followed_to_its_end_through_at_most_12_files(command):
    chain = FOLLOWED[command]
    for (file, word), (following, _) in pairwise(chain):
        if word:
            assert word in named_in(ROOT / file), f"{file} does not call or name {word}"
            assert word in defined_in(ROOT / following), f"{following} has no {word}"
    assert len({file for file, _ in chain}) <= FILES_FOLLOWED
