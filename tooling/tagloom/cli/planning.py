"""Answer the commands that need no switch: new, schema, plan, verify, rollout."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.following import Followed, followed, free_build, running_builds
from tagloom.cli.inputs import (
    Findings,
    add_placement_options,
    inventory_of,
    placement_findings,
    placement_of,
    project_words,
    traffic_given,
)
from tagloom.cli.screen import GOOD, NO, Screen
from tagloom.cli.words import Commands, routing_words
from tagloom.errors import Finding, InputError
from tagloom.storage.outputs import write_output

if TYPE_CHECKING:
    import argparse

    from tagloom.records.fabric import Fabric
    from tagloom.records.route_set import Sharing


SHARDS = 32  # of a cluster whose size nobody said
LOSSES = ("entries", "links", "switches")
DEFAULT_MODEL = "powerconnect-5324"


def _new(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.read import format_family
    from tagloom.read.fabric_file import parse_fabric
    from tagloom.report.cabling import port_lines, ports_taken

    text = format_family(
        args.name or args.family, args.family, tuple(args.dims), args.parallel, args.hosts, args.model, lag=args.lag
    )
    fabric = parse_fabric(text, "new")
    if args.output is None:
        screen.say(text.rstrip())
        screen.remark(*port_lines(fabric))
    else:
        write_output(args.output, text, force=args.force)
        build = free_build(args.output.parent)
        screen.say(f"wrote     {args.output}", *port_lines(fabric), f"next      tagloom plan {args.output} -o {build}")
    wrote = str(args.output) if args.output else ""
    screen.answer({"fabric": text, "ports": ports_taken(fabric), "wrote": wrote})
    return GOOD


def _schema(args: argparse.Namespace, screen: Screen) -> int:
    import json

    from tagloom.read.fabric_schema import fabric_schema

    schema = fabric_schema()
    text = json.dumps(schema, indent=2)
    if args.output is None:
        screen.say(text)
    else:
        write_output(args.output, text + "\n", force=args.force)
        screen.say(f"wrote     {args.output}", f"next      # yaml-language-server: $schema={args.output}")
    screen.answer({"schema": schema, "wrote": str(args.output) if args.output else ""})
    return GOOD


def _planned_parts(args: argparse.Namespace) -> tuple[Fabric, Fabric, Followed]:
    """Read the fabric of `plan`, what is left of it with links off, and the build to follow. Raises InputError."""
    from tagloom import pipeline
    from tagloom.platforms.spanning import spanning_outside
    from tagloom.read import read_fabric
    from tagloom.regulate.settings_file import with_links_off

    found = Findings()
    whole = found.of(lambda: read_fabric(args.fabric, args.templates))
    left: Fabric | None = None
    if whole is not None:
        whole = pipeline.with_trusted_lines(whole) if args.trust_foreign else whole
        whole = spanning_outside(whole) if args.foreign == "spanning-tree" else whole
        left = found.of(lambda: with_links_off(whole, args.off, args.settings))
    words = args.routing, args.assignment, _preference(args)
    more = {"protect": args.protect, "root": args.root, "texts": not args.no_texts}
    found.of(lambda: pipeline.refuse_plan(left, *words, **more))
    given = args.previous or args.keep
    if given and args.from_scratch:
        found.findings.append(Finding("--from-scratch", "no --previous and no --keep beside it", str(given)))
    previous = found.of(lambda: pipeline.read_build(args.previous)) if args.previous else None
    keep = found.of(lambda: pipeline.read_build(args.keep)) if args.keep else None
    if args.inventory is not None:
        found.of(lambda: inventory_of(args))
    follows = not given and not args.from_scratch
    wanted = {"force": args.force, "whole": follows}
    builds = running_builds(args.inventory, args.fabric.parent, args.output, found, **wanted)
    found.findings += placement_findings(args)
    found.findings += pipeline.occupied(args.output, "plan.json", force=args.force)
    found.end()
    assert left is not None  # noqa: S101 - else there are findings
    if given:
        return whole, left, Followed(previous, keep, str(given))
    return whole, left, followed(args, left, builds) if follows else Followed()


def _preference(args: argparse.Namespace) -> str:
    """Return what `plan` prefers: what was chosen, else little load if there is traffic to load the links."""
    return str(args.prefer or ("load" if args.traffic and args.assignment != "pinned" else "vlans"))


def _plan(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline
    from tagloom.regulate.settings_file import read_result
    from tagloom.report import losses, terminal
    from tagloom.share import share_directory

    start = time.monotonic()
    whole, fabric, follows = _planned_parts(args)
    left = {host.name for host in fabric.hosts}
    gone = [host.name for host in whole.hosts if host.name not in left]
    templates = share_directory() / "templates"
    traffic = None
    if args.traffic:  # counters are taken to be of the fabric with all links on
        traffic = traffic_given(
            args.traffic, whole, lambda: pipeline.own_routes(whole, args.routing, args.assignment), placement_of(args)
        )
        traffic = traffic.of_hosts([h for h, host in enumerate(whole.hosts) if host.name in left])
    regulated = read_result(fabric, args.settings) if args.settings else None
    teach = args.learning or args.learning_only
    with screen.waiting("routing, weaving and proving"):
        build, proof, texts = pipeline.plan(
            fabric,
            templates,
            routing=args.routing,
            assignment=args.assignment,
            previous=follows.previous,
            prefer=_preference(args),
            traffic=traffic,
            texts=not args.no_texts,
            static_arp=args.static_arp,
            effort=args.effort,
            root=args.root,
            regulated=regulated,
            learning=teach,
            entries=not args.learning_only,
            keep=follows.keep,
            protect=args.protect,
        )
        summary = pipeline.summary_of(build, proof)
        sleeping = regulated.sleeping_hosts if regulated is not None else ()
        hosts = pipeline.host_pages(build, teach=teach, sleeping=sleeping)
        if proof.proven:
            pipeline.write_build(build, proof, texts, args.output, hosts=hosts, summary=summary, force=args.force)
    screen.say(*terminal.plan_lines(fabric, summary, "byte" if traffic is not None else "host pair"))
    screen.say(*(line for remark in follows.remarks for line in terminal.row("previous", remark)))
    screen.say(*(terminal.row("cut off", f"{', '.join(gone)}: their switch is off") if gone else ()))
    screen.say(*losses.failover_lines(summary, verbose=args.verbose))
    if args.verbose and not screen.as_json:
        screen.say(*terminal.routing_lines(pipeline.routings(fabric, args.assignment)))
        if build.first_fit_vlans is not None:
            first_fit = terminal.count(build.first_fit_vlans, "VLAN")
            screen.say(*terminal.row("", f"the routing's own trees, merged first fit: {first_fit}"))
    screen.say(*terminal.proof_lines(proof, len(fabric.hosts), taught=teach))
    assumed = pipeline.assumptions(fabric, build.state, proof) if args.assumptions else None
    screen.say(*terminal.assumption_lines(assumed or []))
    if proof.proven and args.no_texts:
        screen.say(
            f"wrote     {args.output}/plan.json in {time.monotonic() - start:.1f} s; the planned states are proven, "
            "no texts were written or proven",
            "next      the same without --no-texts",
        )
    elif proof.proven:
        page = f"tagloom apply {args.output}{project_words()} --check --diff"
        if args.learning_only:
            page = f"paste {args.output}/configs into the switches, then run hosts/learning.sh on every host"
        wrote = f"{args.output}/ ({', '.join([terminal.count(len(texts), 'configuration'), 'plan.json', *hosts])})"
        screen.say(
            f"wrote     {wrote} in {time.monotonic() - start:.1f} s",
            *terminal.row("next", page),
        )
    else:
        screen.say("the plan does not prove; nothing was written", "next      another --routing or --assignment")
    requested = {} if assumed is None else {"assumptions": assumed}
    summary |= {"previous": follows.place or None, "previous_use": follows.use}
    screen.answer({**summary, "hosts_cut_off": gone, "texts_proven": proof.proven and not args.no_texts, **requested})
    return GOOD if proof.proven else NO


def _verify(args: argparse.Namespace, screen: Screen) -> int:
    if args.paths or args.fdb or args.certificate or args.jobs is not None or args.scheduler:
        return _verify_routes(args, screen)
    from tagloom import pipeline
    from tagloom.read import read_fabric
    from tagloom.report import losses, terminal

    if args.what_if not in {"", *LOSSES} and args.build is None:  # `verify --what-if BUILD`
        args.build, args.what_if = Path(args.what_if), LOSSES[0]
    if args.what_if not in {"", *LOSSES}:
        raise InputError([Finding("--what-if", " or ".join(LOSSES), repr(args.what_if))])
    if (args.build is None) == (args.fabric is None or args.configs is None):
        given = [f"--{name}" for name in ("fabric", "configs") if getattr(args, name) is not None]
        actual = " and ".join(given if args.build is None else ["BUILD", *given]) or "neither"
        raise InputError([Finding("verify", "BUILD, or --fabric FABRIC and --configs DIR", actual)])
    if args.build is not None:
        build = pipeline.read_build(args.build)
        fabric, routes, configs = build.fabric, build.routes, args.configs or args.build / "configs"
        repeats, detours, taught = build.duplicates_allowed, build.detours or None, build.taught
    else:
        all_found = Findings()
        fabric, routes, configs, repeats, detours, taught = (
            all_found.of(lambda: read_fabric(args.fabric, args.templates)),
            None,
            args.configs,
            False,
            None,
            False,
        )
        all_found.of(lambda: pipeline.folder_of_texts(configs))
        all_found.end()
    with screen.waiting("proving"):
        texts = pipeline.read_texts(fabric, configs)
        fabric = pipeline.with_trusted_lines(fabric) if args.trust_foreign else fabric
        state, proof = pipeline.prove(
            fabric,
            texts,
            routes,
            loss=args.what_if,
            detours=detours,
            duplicates_allowed=repeats,
            whole=True,
            trust_foreign=args.trust_foreign,
            taught=taught,
        )
        own = sum(map(len, pipeline.site_lines(fabric).values()))
    assumed = pipeline.assumptions(fabric, state, proof) if args.assumptions else None
    screen.say(*terminal.row("read", f"{terminal.count(len(fabric.live), 'configuration')} of {configs}"))
    screen.say(*terminal.proof_lines(proof, len(fabric.hosts), taught=taught))
    screen.say(*losses.what_if_lines(proof.what_if))
    screen.say(*terminal.assumption_lines(assumed or []))
    screen.say(*terminal.text_lines(proof))
    if own:
        screen.say(*terminal.row("site", terminal.site_words(own)))
    screen.answer(proof.to_json() | {"site_lines": own} | ({} if assumed is None else {"assumptions": assumed}))
    harmless = proof.what_if is None or proof.what_if.safe
    return GOOD if proof.proven and harmless else NO


def _verify_routes(args: argparse.Namespace, screen: Screen) -> int:
    """Prove routes that others made."""
    from tagloom import pipeline
    from tagloom.report.route_sets import lossless_lines

    others = [name for name in ("build", "fabric", "configs", "what_if", "templates") if getattr(args, name)]
    if (args.paths is None) == (args.fdb is None) or others:
        beside = ", ".join([*(name for name in ("paths", "fdb") if getattr(args, name)), *others])
        raise InputError([Finding("verify", "--paths FILE or --fdb DIR, and no build", beside or "neither")])
    _check_sharing(args)
    with screen.waiting("proving"):
        with contextlib.ExitStack() as stack:
            sharing = _sharing(args, stack)
            proof = pipeline.prove_tables(args.fdb, sharing) if args.paths is None else pipeline.prove_paths(args.paths)
        if args.certificate and proof.deadlock_free:
            pipeline.write_certificate(proof, args.certificate, force=args.force)
    screen.say(*lossless_lines(proof))
    if args.certificate:
        screen.say(f"wrote     {args.certificate}" if proof.deadlock_free else "wrote     nothing: there is a cycle")
    screen.answer(proof.to_json())
    return GOOD if proof.proven else NO


def _check_sharing(args: argparse.Namespace) -> None:
    """Raise InputError for what is wrong with the sharing of tables, and for tables that are not there."""
    findings = []
    if args.paths is not None and (args.jobs is not None or args.scheduler):
        findings.append(Finding("--jobs, --scheduler", "destinations of tables, --fdb DIR", "--paths"))
    if args.jobs is not None and args.jobs < 1:
        findings.append(Finding("--jobs", "1 or more", str(args.jobs)))
    if findings and args.fdb is not None and not args.fdb.is_dir():
        findings.append(Finding(str(args.fdb), "a directory of tables", "no directory"))
    if findings and args.paths is not None and not args.paths.is_file():
        findings.append(Finding(str(args.paths), "a file of paths", "no file"))
    if findings:
        raise InputError(findings)


def _sharing(args: argparse.Namespace, stack: contextlib.ExitStack) -> Sharing | None:
    """Return who follows the destinations of tables, None for this process alone."""
    if args.jobs is None and args.scheduler is None:
        return None
    from tagloom.adapters.workers import workers
    from tagloom.records.route_set import Sharing

    executor = stack.enter_context(workers(args.scheduler, args.jobs))
    return Sharing(args.jobs or SHARDS, executor.map)


def _rollout(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline
    from tagloom.report import terminal
    from tagloom.share import share_directory

    allow = args.allow or []
    all_found = Findings()
    findings = all_found.findings
    findings += pipeline.unfit(args.strategy, allow_drain="drain" in allow)
    from_or_to = args.greenfield or args.to
    if len(args.builds) != (1 if from_or_to else 2) or (args.greenfield and args.to):
        rule = "OLD NEW, --greenfield NEW, or --to spanning-tree OLD"
        findings.append(Finding("rollout", rule, " ".join(map(str, args.builds))))
    if from_or_to and args.strategy != "auto":
        findings.append(Finding("--strategy", "none: --greenfield and --to are one themselves", args.strategy))
    if (args.root or args.blocked) and not from_or_to:
        findings.append(
            Finding("--root, --blocked", "--greenfield or --to beside them", "a rollout between two builds")
        )
    findings += pipeline.occupied(args.output, "rollout.json", force=args.force)
    running_builds(None, args.builds[0].parent, args.output, all_found, force=args.force, whole=False)
    builds = [all_found.of(partial(pipeline.read_build, path)) for path in args.builds]
    from tagloom.records.build import LEARNS

    learning = [path for path, each in zip(args.builds, builds, strict=True) if each is not None and each.taught]
    all_found.findings += [Finding(str(path), "a build with static entries", LEARNS) for path in learning]
    all_found.end()
    with screen.waiting("ordering and proving waves"):
        wish = {"allow_drain": "drain" in allow, "foreign": args.foreign, "running": args.running}
        if from_or_to:
            tree = {"root": args.root, "blocked": args.blocked}
            change = pipeline.greenfield(builds[0], **tree, **wish, back=bool(args.to))
        else:
            wish |= {"strategy": args.strategy, "allow_duplicates": "duplicates" in allow}
            change = pipeline.rollout_between(*builds, **wish)
        templates = share_directory() / "templates"
        payload = pipeline.write_rollout(builds[-1], change, templates, args.output, force=args.force)
    screen.say(
        *terminal.rollout_lines(payload), f"wrote     {args.output}/ (waves and the target, {args.output}/build)"
    )
    screen.say(f"next      tagloom apply {args.output}{project_words()} --check --diff")
    screen.answer(payload)
    return GOOD


# An argument for each option of its commands, nothing else.
def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    new = commands.add("new", _new, "write a fabric file of a regular family")
    new.add_argument(
        "family", metavar="FAMILY", help="mesh, torus, hypercube, ring, fat-tree, clos, complete, tree or dragonfly"
    )
    new.add_argument("--dims", type=int, nargs="+", required=True, metavar="N", help="the family's sizes, e.g. 4 4")
    new.add_argument("--parallel", type=int, default=1, metavar="N", help="links between neighbours (default 1)")
    new.add_argument("--lag", action="store_true", help="make the parallel links of two neighbours one aggregated link")
    new.add_argument(
        "--hosts", type=int, default=1, metavar="N", help="hosts on each switch, in a fat tree on each leaf (default 1)"
    )
    new.add_argument("--model", default=DEFAULT_MODEL, metavar="M", help=f"switch model (default {DEFAULT_MODEL})")
    new.add_argument("--name", metavar="NAME", help="name of the fabric (default: the family)")
    new.add_output("-o", "--output", or_printed=True, help="write here instead of to standard output")

    schema = commands.add("schema", _schema, "write the JSON Schema of the fabric file, for editors")
    schema.add_output("-o", "--output", or_printed=True, help="write here instead of to standard output")

    plan = commands.add(
        "plan", _plan, "route a fabric, weave its VLANs, prove them and render the configurations", routing_words()
    )
    plan.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file")
    plan.add_argument("-o", "--output", type=Path, required=True, metavar="BUILD", help="directory to write")
    plan.add_force()
    plan.add_argument(
        "--prefer",
        choices=["vlans", "load"],
        help="vlans: use few VLANs; load: spread hosts over parallel links and trees, so that the busiest channel "
        "carries less (default vlans; load with --traffic)",
    )
    plan.add_argument(
        "--traffic", type=Path, metavar="FILE", help="spread these bytes over the links; formats as for regulate"
    )
    add_placement_options(plan)
    plan.add_argument(
        "--off",
        nargs="+",
        default=[],
        metavar="SWITCH:PORT",
        help="links to turn off, named by either end; or SWITCH: turn off all its links and do not contact it",
    )
    plan.add_argument("--settings", type=Path, metavar="FILE", help="links to turn off, chosen by tagloom regulate")
    plan.add_argument(
        "--previous",
        type=Path,
        metavar="BUILD",
        help="reuse its VLAN ids for unchanged trees, and for nothing else (default: the build that runs)",
    )
    plan.add_argument(
        "--keep",
        type=Path,
        metavar="BUILD",
        help="keep its paths and VLAN ids for the hosts both have: for a fabric that grows or shrinks (default: the "
        "build that runs, where only hosts differ and no option chooses paths)",
    )
    plan.add_argument("--from-scratch", action="store_true", help="follow no build, whatever runs")
    plan.add_argument(
        "-i",
        "--inventory",
        type=Path,
        metavar="INVENTORY",
        help="inventory whose journal says what runs (default: all in inventory/ here and beside FABRIC)",
    )
    plan.add_argument(
        "--no-texts", action="store_true", help="write plan.json only; prove the planned states, not texts"
    )
    plan.add_argument(
        "--effort",
        type=int,
        default=1,
        metavar="N",
        help="how long --routing any searches; 0 tries one channel order (default 1)",
    )
    plan.add_argument(
        "--root",
        metavar="SWITCH",
        help="root of --routing up-down (default best: the central switch with the shortest paths)",
    )
    plan.add_argument(
        "--protect",
        choices=["auto", "none", "link", "switch"],
        default="auto",
        help="also install detour VLANs around each single link, or each link and switch: a repair then only changes "
        "the PVIDs of hosts (default auto: around links, if paths, their VLANs and their entries stay the same and "
        "half of each table stays free; link and switch may choose other paths, --prefer vlans keeps detours few, "
        "--prefer load keeps them short). With "
        "--assignment renamed too: frames keep a detour's VLAN on the whole path. With --assignment pinned no VLAN is "
        "needed: a repair changes static entries, and where floods pass",
    )
    plan.add_argument(
        "--static-arp",
        action="store_true",
        help="with renamed: where flooding would repeat broadcasts, use static ARP on hosts instead of group entries",
    )
    plan.add_argument(
        "--learning",
        action="store_true",
        help="with fixed: also learn addresses from tagged frames that hosts send (hosts/learning.sh), beside static "
        "entries, and accept those frames where they are proven deadlock-free or flow control is off",
    )
    plan.add_argument(
        "--learning-only",
        action="store_true",
        help="with fixed: as --learning, instead of static entries: frames flood their VLAN until all hosts have run "
        "hosts/learning.sh, and again after the aging time, which is the longest known of a switch. For configurations "
        "that you paste: apply and rollout push only paths that static entries pin",
    )

    plan.add_argument(
        "--foreign",
        choices=["spanning-tree"],
        help="spanning-tree: keep spanning tree on for ports outside the fabric, off on the fabric's; same as "
        "spanning_tree: outside in the fabric file",
    )
    plan.add_argument(
        "--trust-foreign",
        action="store_true",
        help="accept lines of your site templates that tagloom does not know; the build lists them",
    )

    verify = commands.add(
        "verify", _verify, "prove a fabric from configuration texts alone, and check whether they can be pasted"
    )
    verify.add_argument(
        "build", type=Path, nargs="?", metavar="BUILD", help="a build; also compares paths with its plan"
    )
    verify.add_argument("--fabric", type=Path, metavar="FABRIC", help="fabric file, where there is no build")
    verify.add_argument(
        "--configs", type=Path, metavar="DIR", help="directory of SWITCH.cfg files; with BUILD, used instead of its own"
    )
    verify.add_argument(
        "--trust-foreign",
        action="store_true",
        help="accept lines that tagloom does not know, and list them",
    )
    verify.add_argument(
        "--what-if",
        nargs="?",
        const="entries",
        default="",
        metavar="entries|links|switches",
        help="also prove what happens when any single static entry (default), link or switch is lost; hosts then "
        "use the detours of BUILD, or else any VLAN that reaches them",
    )
    for command in (plan, verify):
        command.add_argument(
            "--templates",
            type=Path,
            metavar="DIR",
            help="your own FAMILY/lines.j2 and FAMILY/configuration.j2, used instead of tagloom's, and site/all.j2, "
            "lines added to every switch (default: templates/ beside the fabric file, or those kept in the build)",
        )
        command.add_argument(
            "--assumptions",
            action="store_true",
            help="also list what the proof assumes of switches and hosts, how likely that is, and how to check it",
        )

    verify.add_argument(
        "--paths",
        type=Path,
        metavar="FILE",
        help="instead, prove routes of any lossless network: CSV of source,destination,path[,priority]",
    )
    verify.add_argument(
        "--fdb",
        type=Path,
        metavar="DIR",
        help="the same from forwarding tables: links.csv and tables.csv, OpenSM's files, routers' tables in JSON",
    )
    verify.add_argument(
        "--jobs", type=int, metavar="N", help="follow the destinations of --fdb in N shards, each a process by itself"
    )
    verify.add_argument(
        "--scheduler", metavar="ADDRESS", help="follow them on a Dask cluster instead: its scheduler, tcp://host:port"
    )
    verify.add_output(
        "--certificate",
        help="with --paths or --fdb: write the proof, for tooling/check_routes.py",
    )
    rollout = commands.add("rollout", _rollout, "order the change from one build to another into proven waves")
    rollout.add_argument(
        "builds",
        type=Path,
        nargs="+",
        metavar="BUILD",
        help="OLD NEW: the build that runs and the build to run; hosts, links and switches may differ",
    )
    rollout.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="directory to write")
    rollout.add_force()
    rollout.add_argument(
        "--strategy",
        default="auto",
        metavar="NAME",
        help="auto (default: the shortest that can be proven), direct, batches, park, per-port, slides, "
        "pause-off or drain",
    )
    rollout.add_argument(
        "--allow",
        action="append",
        choices=["drain", "duplicates"],
        help="drain: hosts may be paused where nothing gentler can be proven; duplicates: broadcasts may arrive twice",
    )
    rollout.add_argument(
        "--greenfield",
        action="store_true",
        help="from factory defaults with spanning tree running, to one BUILD",
    )
    rollout.add_argument(
        "--to",
        choices=["spanning-tree"],
        help="from one BUILD back to spanning tree in VLAN 1, or to what --running kept before the way there",
    )
    rollout.add_argument(
        "--running",
        type=Path,
        metavar="DIR",
        help="SWITCH.cfg files read from the switches, whose foreign VLANs are proven too (default: those kept in OLD)",
    )
    rollout.add_argument(
        "--foreign",
        choices=["refuse", "prune"],
        default="refuse",
        help="foreign VLANs that would loop without spanning tree: refuse (default), or prune them to a tree in a "
        "first wave, which rollback undoes",
    )
    rollout.add_argument(
        "--root",
        metavar="SWITCH",
        help="with --greenfield, --to: root of the spanning tree (default: as adopt kept it, else the first switch)",
    )
    rollout.add_argument(
        "--blocked",
        nargs="+",
        default=[],
        metavar="SWITCH:PORT",
        help="with --greenfield, --to: ports that spanning tree blocks (default: as adopt kept them, else by 802.1D)",
    )
