"""Parse the words of the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tagloom.cli.inputs import LAB
from tagloom.cli.mistakes import finding_of
from tagloom.cli.vault import add_vault_words
from tagloom.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tagloom.cli.screen import Screen


EXAMPLES = {
    "tagloom": "tagloom demo",
    "init": "tagloom init rack --family torus --dims 4 4 --parallel 2 --network 192.0.2.0/24",
    "paths": "tagloom paths playbooks",
    "new": "tagloom new torus --dims 4 4 --parallel 2 -o fabric.yml",
    "schema": "tagloom schema -o fabric.schema.json",
    "plan": "tagloom plan fabric.yml -o build",
    "verify": "tagloom verify build   (or: tagloom verify --fabric fabric.yml --configs build/configs)",
    "path": "tagloom path h0 h5 --after s0:g1",
    "status": "tagloom status",
    "backup": "tagloom backup --git -o configurations",
    "rollout": "tagloom rollout build build-night -o to-night",
    "apply": "tagloom apply build --check --diff",
    "rollback": "tagloom rollback",
    "confirm": "tagloom confirm",
    "bootstrap": "tagloom bootstrap fabric.yml --network 192.0.2.0/24 -o first",
    "record": "tagloom record s0 -o s0.json",
    "replace": "tagloom replace s3 --serial /dev/ttyUSB0 --network 192.0.2.0/24 --new-key --check",
    "abort": "tagloom abort",
    "repair": "tagloom repair --check",
    "regulate": "tagloom regulate fabric.yml --traffic matrix.csv -o night.json",
    "timetable": "tagloom timetable fabric.yml --traffic day/ --most-settings 3 -o day.yml",
    "predict": "tagloom predict build --traffic matrix.csv --seconds 3600 --settings night.json",
    "export": "tagloom export simgrid build -o platform.xml",
    "import": "tagloom import https://netbox.example --filter site=lab -o fabric.yml",
    "score": "tagloom score --measured watts_after=401.5 seconds_predicted=3630",
    "fit": "tagloom fit --pairs pairs.csv -o switch.yml",
    "sweep": "tagloom sweep sweep.yml -o sweep.csv",
    "report": "tagloom report build --traffic matrix.csv --seconds 3600 -o report.html",
    "observe": "tagloom observe -o history.db --every 30s",
    "discover": "tagloom discover --start 192.0.2.10 -o fabric.yml",
    "adopt": "tagloom adopt -i inventory/rack -o fabric.yml --running running",
    "hosts": "tagloom hosts learn fabric.yml --check",
    "hosts learn": "tagloom hosts learn fabric.yml -i inventory/testbed",
    "hosts import": "tagloom hosts import /etc/ethers fabric.yml --check",
    "eee": "tagloom eee --phy 10GBASE-T --load 0.1 --idle-timeout 0 --frame-bytes 1500",
    "measure": "tagloom measure pingpong --local",
    "measure pingpong": "tagloom measure pingpong --local --np-out np.out --store lab.db",
    "measure idle-gap": "tagloom measure idle-gap --emulate 1e-3,182e-6,60e-6 -o eee.yml",
    "measure rps": "tagloom measure rps --namespaces",
    "measure power": "tagloom measure power --meter wattsup:/dev/ttyUSB0 --calibrate --seconds 60",
    "measure messages": "tagloom measure messages -o message_log.c",
    "run": "tagloom run day.yml -i inventory/testbed --check --once",
    "lab": "tagloom lab up fabric.yml",
    "lab up": "tagloom lab up fabric.yml",
    "lab add": "tagloom lab add grown.yml",
    "lab status": "tagloom lab status",
    "lab ping": "tagloom lab ping h0 h5   (or, all pairs: tagloom lab ping)",
    "lab traffic": "tagloom lab traffic start",
    "lab fault": "tagloom lab fault s0 cable --port g1",
    "lab console": "tagloom lab console s0",
    "lab play": "tagloom lab play s0 s0.json",
    "lab manner": "tagloom lab manner s0 paged-by-more",
    "lab mend": "tagloom lab mend s0",
    "lab down": "tagloom lab down",
    "demo": "tagloom demo",
    "docs": "tagloom docs routing",
    "explain": "tagloom explain storm",
    "completion": "tagloom completion bash > ~/.local/share/bash-completion/completions/tagloom",
}

# The page of docs/ on which each command, or its group, is explained.
PAGES = {
    "tagloom": "index.md",
    "status": "status.md",
    "init": "installing.md",
    "paths": "installing.md",
    "new": "fabric-file.md",
    "bootstrap": "bootstrapping.md",
    "plan": "routing.md",
    "verify": "verifying.md",
    "adopt": "adopting.md",
    "path": "routing.md",
    "rollout": "rollouts.md",
    "apply": "rollouts.md",
    "confirm": "confirming.md",
    "rollback": "rollouts.md",
    "abort": "rollouts.md",
    "repair": "repair.md",
    "replace": "replacing.md",
    "record": "recording.md",
    "backup": "status.md",
    "regulate": "saving.md",
    "timetable": "timetable.md",
    "run": "timetable.md",
    "observe": "observing.md",
    "discover": "observing.md",
    "hosts": "hosts.md",
    "predict": "forecasts.md",
    "report": "observing.md",
    "measure": "measure.md",
    "eee": "explanation/eee.md",
    "fit": "measure.md",
    "sweep": "forecasts.md",
    "score": "forecasts.md",
    "export": "neighbours.md",
    "import": "neighbours.md",
    "demo": "tutorial.md",
    "lab": "tutorial.md",
    "docs": "index.md",
    "explain": "checks.md",
    "completion": "commands.md",
    "schema": "reference/fabric-keys.md",
}


# Where `tagloom --help` lists each command.
SECTIONS = {
    "operate": "status init new bootstrap plan verify path rollout apply confirm rollback abort repair replace backup",
    "save power": "regulate timetable run",
    "look": "observe discover adopt import hosts record",
    "study": "predict report measure eee fit sweep score export",
    "learn": "demo lab docs explain paths",
    "shell and editor": "completion schema",
}


class SectionedHelp(argparse.RawDescriptionHelpFormatter):
    """Help whose commands stand in sections; those that no section names come last."""

    def _format_action(self, action: argparse.Action) -> str:
        if not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse offers no other way
            return super()._format_action(action)
        self._indent()
        subactions = action._get_subactions()  # noqa: SLF001 - as above
        found = {each.dest: super(SectionedHelp, self)._format_action(each) for each in subactions}
        self._dedent()
        named = [name for names in SECTIONS.values() for name in names.split()]
        rest = " ".join(name for name in found if name not in named)
        parts = []
        for title, names in {**SECTIONS, "more": rest}.items():
            listed = [found[name] for name in names.split() if name in found]
            parts += [f"{' ' * self._current_indent}{title}:\n", *listed] if listed else []
        return "".join(parts)


class _Output(argparse.Action):
    """A file to write: its path, or None for standard output, which is named `-`, of a command that prints its text."""

    def __init__(self, *words: Any, or_printed: bool = False, **more: Any) -> None:
        super().__init__(*words, **more)
        self._or_printed = or_printed

    def __call__(self, _parser: Any, namespace: Any, values: Any, _option: str | None = None) -> None:
        """Store the path."""
        printed = str(values) == "-"
        path = Path("/dev/stdout") if printed else values
        setattr(namespace, self.dest, None if printed and self._or_printed else path)


class Parser(argparse.ArgumentParser):
    """Parse arguments; what is wrong with them is a finding like any other."""

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse as argparse does, remember the words for an error, and list the files that are to be written."""
        self._words = list(args or ())
        found, more = super().parse_known_args(args, namespace)
        for action in self._actions:
            if isinstance(action, _Output) and getattr(found, action.dest, None) is not None:
                found.outputs = [*getattr(found, "outputs", []), getattr(found, action.dest)]
        return found, more

    def add_output(self, *flags: str, or_printed: bool = False, gathered: bool = False, **more: Any) -> None:
        """Add an option that names a file to write, and --force beside it.

        The command does not run where another file is there (`storage.outputs`), unless its `Findings` are `gathered`
        from its arguments and so report the file with what else is wrong. With `or_printed` the command prints its text
        without the option, and with the name `-`.
        """
        self.set_defaults(gathered=gathered)
        more = {"metavar": "FILE", "type": Path, "action": _Output, "or_printed": or_printed, **more}
        self.add_argument(*flags, **more)
        self.add_force()

    def add_force(self) -> None:
        """Add --force, unless the parser has it."""
        if "--force" not in self._option_string_actions:
            about = "overwrite files that tagloom did not write, or that changed since"
            self.add_argument("--force", action="store_true", help=about)

    def error(self, message: str) -> NoReturn:
        """Raise InputError instead of printing and exiting."""
        example = EXAMPLES.get(self.prog.partition(" ")[2] or self.prog, self.prog)
        raise InputError([finding_of(self, self._words, message, example.partition("   ")[0])])


def routing_words() -> Parser:
    """Return the options that choose routing and assignment."""
    routing = Parser(add_help=False)
    routing.add_argument(
        "--routing",
        default="auto",
        metavar="METHOD",
        help="auto, dor, dor-r1, dor-r7, north-last, west-first, negative-first, direct, fat-tree, double-star, any, "
        "up-down or tree (default auto)",
    )
    routing.add_argument(
        "--assignment",
        default="fixed",
        metavar="KIND",
        help="fixed: a frame keeps its VLAN on its whole path; renamed: switches change it on the way, "
        "which takes fewer VLANs; pinned: all hosts of a network share one VLAN, and static entries choose the path "
        "(default fixed)",
    )
    return routing


def snmp_words() -> Parser:
    """Return the options of commands that read over SNMP."""
    snmp = Parser(add_help=False)
    snmp.add_argument(
        "--snmp",
        type=Path,
        metavar="FILE",
        help="SNMP settings (default: snmp.yml beside the inventory; secrets also from TAGLOOM_SNMP_*)",
    )
    snmp.add_argument(
        "--snmp-version", choices=["3", "2c"], help="SNMP version, instead of the settings' (default 3, authPriv)"
    )
    snmp.add_argument(
        "--in-flight", type=int, default=64, metavar="N", help="switches read at the same time (default 64)"
    )
    snmp.add_argument(
        "--timeout", type=float, default=1.0, metavar="S", help="seconds to wait for one answer (default 1)"
    )
    snmp.add_argument("--retries", type=int, default=2, metavar="N", help="retries of one request (default 2)")
    snmp.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"inventory (default {LAB}, where a lab runs)"
    )
    add_vault_words(snmp)
    return snmp


class Commands:
    """Add commands to a parser, each with its example and the options that all commands have."""

    def __init__(self, parser: argparse.ArgumentParser, metavar: str, of: str = "") -> None:
        self.parser, self._of = parser, of
        self._parsers = parser.add_subparsers(
            dest=of or "command", metavar=metavar, required=True, title="commands", parser_class=Parser
        )
        self.common = Parser(add_help=False)
        self.common.add_argument(
            "--json", action="store_true", help="print one JSON object and nothing else on standard output"
        )
        self.common.add_argument("-v", "--verbose", action="count", default=0, help="show more detail, and tracebacks")

    def add(self, name: str, run: Callable[[argparse.Namespace, Screen], int], what: str, *parents: Parser) -> Parser:
        """Add a command that `run` answers; `parents` bring options that several commands share."""
        added: Parser = self._parsers.add_parser(
            name,
            help=what,
            description=described(f"{self._of} {name}".lstrip(), what[0].upper() + what[1:] + "."),
            parents=[self.common, *parents],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(run=run)
        return added


def described(name: str, what: str) -> str:
    """Return a command's description with its example and its page."""
    return f"{what}\n\nexample:\n  {EXAMPLES[name]}\n\nread on:\n  {docs_command(page_of(name))}"


def page_of(name: str) -> str:
    """Return the page of a command, as a path in tagloom's sources; the site has it under the same name."""
    group = name.partition(" ")[0]
    return f"docs/{PAGES.get(group, PAGES['tagloom'])}"


def docs_command(*pages: str) -> str:
    """Return the commands that show pages, wherever tagloom is installed.

    >>> docs_command("docs/forecasts.md", "docs/explanation/eee.md")
    'tagloom docs forecasts, tagloom docs explanation/eee'
    """
    return ", ".join(f"tagloom docs {page.removeprefix('docs/').removesuffix('.md')}" for page in pages)
