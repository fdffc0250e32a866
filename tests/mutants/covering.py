"""Say which tests cover which part of the code: the quick ones that fail most first, as `make mutants` runs them."""

from fnmatch import fnmatch

ROOMS = ("graph", "verify", "weave", "route", "rollout", "render", "apply", "operate", "observe")
# Where no test in COVERING notices, those of these that execute a line follow, which running all once tells, see
# executed.py: on racks, and for what many parts together prove, such as laws.
PROOFS = "verify weave route rollout render laws gadgets conformance judges platforms predict regulate protect"
RECORDED = {
    "apply": "apply",
    "operate": "operate apply/test_runs.py apply/test_direct_push.py",
    "observe": "observe",
    **dict.fromkeys(("verify", "weave", "route", "rollout", "render"), PROOFS),
}

TEXTS = " ".join(f"render/test_{name}.py" for name in ("grammar", "parse_configuration", "render_golden", "read_state"))

VERIFIED = (
    "verify/test_verify.py verify gadgets laws/test_compiled_loops_agree.py laws/test_verifier_agrees_with_frames.py "
    "laws/test_other_paths_than_planned.py laws/test_frames_that_hosts_tag.py laws/test_foreign_vlans.py "
    "laws/test_waves_over_aggregated_links.py laws/test_several_addresses.py laws/test_uplinks.py "
    "laws/test_networks.py verify/test_networks_in_texts.py"
)

ROLLED_OUT = " ".join(
    f"rollout/test_{name}.py"
    for name in (
        "cells",
        "cases",
        "waits",
        "finish",
        "management",
        "ports_of_hosts",
        "slides",
        "must_hold",
        "greenfield",
        "rollout",
        "foreign_waits",
        "per_port",
        "back",
        "growth_at_a_tree",
    )
)

# The first pattern that a module's path matches counts.
COVERING = [
    ("graph/walks.py", "laws/test_compiled_loops_agree.py"),
    ("graph/numbering.py", "weave/test_weave.py rollout/test_rollout.py"),
    ("graph/flows.py", "predict/test_flows.py"),
    ("graph/next_channels.py", "route/test_by_destination.py"),
    ("graph/*", "verify/test_certificate.py route/test_routes.py gadgets laws/test_compiled_loops_agree.py"),
    (
        "verify/wave.py",
        "verify/test_copies.py rollout/test_proof_assumptions.py rollout/test_wave_proof.py rollout/test_must_hold.py",
    ),
    (
        "verify/interleaving.py",
        "laws/test_model_of_a_wave_is_every_state.py rollout/test_wave_proof.py rollout/test_must_hold.py",
    ),
    ("verify/management.py", "verify/test_verify.py rollout/test_management.py"),
    ("verify/guard.py", "verify/test_guard.py rollout/test_cells.py rollout/test_cases.py rollout/test_must_hold.py"),
    ("verify/border.py", "verify/test_border.py"),
    ("verify/confined.py", "weave/test_pinned.py"),
    ("verify/foreign.py", "laws/test_foreign_vlans.py"),
    ("verify/foreign_reach.py", "verify/test_foreign_reach.py rollout/test_outside.py"),
    ("verify/foreign_waits.py", "verify/test_foreign_entrances.py rollout/test_foreign_waits.py"),
    ("verify/moved_entries.py", "protect/test_moved_entries.py"),
    ("verify/foreign_wave.py", "rollout/test_pruning.py"),
    ("verify/what_if.py", "protect laws/test_failures_at_once.py"),
    ("verify/detours_at_once.py", "protect laws/test_failures_at_once.py"),
    ("verify/interrupted.py", "laws/test_interrupted_pairs.py"),
    ("verify/strange_senders.py", "laws/test_frames_that_hosts_tag.py laws/test_interrupted_pairs.py"),
    ("verify/running.py", "laws/test_running_networks.py"),
    ("verify/*", VERIFIED),
    ("weave/merge.py", "weave/test_merge.py weave/test_weave.py"),
    ("weave/broadcast.py", "weave/test_broadcast.py weave/test_weave.py"),
    ("weave/pinned.py", "weave/test_pinned.py"),
    ("weave/moved_entries.py", "protect/test_moved_entries.py"),
    ("weave/assign.py", "weave/test_weave.py laws/test_frames_that_hosts_tag.py"),
    ("weave/entries.py", "weave/test_entries.py weave/test_weave.py"),
    (
        "weave/*",
        "weave/test_weave.py gadgets verify/test_verify.py weave golden laws/test_verifier_agrees_with_frames.py",
    ),
    ("route/backwards.py", "route/test_by_destination.py"),
    ("route/any_order/protect.py", "protect"),
    ("route/any_order/own_detours.py", "protect/test_load_after_failures.py protect"),
    ("route/any_order/relieve.py", "protect/test_load_after_failures.py protect"),
    ("route/any_order/detours.py", "protect"),
    ("route/detours.py", "protect"),
    ("route/any_order/*", "route/test_any.py"),
    ("route/ranked_trees.py", "laws/test_compiled_loops_agree.py route/test_any.py"),
    ("route/spread.py", "route/test_spread.py"),
    ("route/gather.py", "route/test_gather.py"),
    (
        "route/*",
        (
            "route/test_turn_model.py route/test_detour.py route/test_up_down_by_in_port.py "
            "laws/test_grids_with_dead_parts.py route/test_routes.py"
        ),
    ),
    ("rollout/foreign.py", "rollout/test_pruning.py"),
    ("rollout/pruning.py", "rollout/test_pruning.py laws/test_advice_leads_on.py"),
    (
        "rollout/between_fabrics.py",
        "rollout/test_growth.py rollout/test_growth_at_a_tree.py laws/test_stories_of_growth.py",
    ),
    ("rollout/choose.py", f"{ROLLED_OUT} weave/test_pinned.py"),
    ("rollout/growth.py", "rollout/test_growth.py"),
    ("rollout/readmit.py", "rollout/test_dead_parts.py"),
    ("rollout/greenfield.py", "rollout/test_greenfield.py rollout/test_rollout.py"),
    ("rollout/back.py", "rollout/test_back.py"),
    ("rollout/outside.py", "rollout/test_outside.py"),
    ("rollout/spanning.py", "rollout/test_greenfield.py"),
    ("rollout/per_port.py", "rollout/test_per_port.py rollout/test_rollout.py"),
    ("rollout/acyclic.py", f"rollout/test_acyclic.py {ROLLED_OUT}"),
    ("rollout/finish.py", "rollout/test_finish.py rollout/test_rollout.py"),
    ("rollout/*", ROLLED_OUT),
    ("render/modes.py", f"{TEXTS} rollout/test_cells.py rollout/test_wave_proof.py"),
    ("render/modes_reader.py", f"{TEXTS} render/test_hostile_lines.py verify/test_texts_that_do_not_work.py"),
    ("render/parse.py", f"{TEXTS} render/test_hostile_lines.py verify/test_texts_that_do_not_work.py"),
    ("render/view.py", f"{TEXTS} render/test_hostile_names.py"),
    ("render/menus.py", "render/test_routeros.py"),
    ("render/site_*.py", "laws/test_site_lines.py"),
    ("render/hosts.py", "render/test_hosts.py"),
    ("render/bridge.py", "render/test_linux_bridge.py"),
    ("render/shell*.py", "render/test_linux_bridge.py"),
    ("apply/build.py", "apply/test_build.py"),
    ("apply/gate.py", "apply/test_gate.py"),
    ("apply/interrupts.py", "apply/test_interrupts.py"),
    ("apply/*lock*.py", "apply/test_locks.py"),
    ("apply/journal.py", "apply/test_journal.py apply/test_run_states.py"),
    ("apply/run_states.py", "apply/test_run_states.py"),
    ("apply/abort.py", "apply/test_journal.py"),
    ("apply/confirmations.py", "apply/test_journal.py"),
    ("apply/scheduled_reloads.py", "apply/test_journal.py"),
    ("apply/typed_lines.py", "apply/test_journal.py"),
    ("apply/reading.py", "apply/test_unreachable.py"),
    ("apply/*", "apply/test_run_files.py apply/test_one_switch.py apply/test_unreachable.py"),
    ("render/*", f"{TEXTS} render/test_hostile_lines.py laws/test_paste_order.py laws/test_render_parse.py"),
]


def tests_of(module):
    """Return the paths of the tests that cover a module."""
    chosen = next((tests for pattern, tests in COVERING if fnmatch(module, pattern)), "")
    return tuple(f"tests/{path}" for path in chosen.split())


def files_of(root, tests):
    """Return the files of tests among files and folders of them, each once."""
    found = (sorted((root / path).rglob("test_*.py")) if (root / path).is_dir() else [root / path] for path in tests)
    return tuple(dict.fromkeys(str(path.relative_to(root)) for paths in found for path in paths))


def recorded_tests(room):
    """Return the paths of the tests of a part among which those that execute a line are chosen."""
    return tuple(f"tests/{path}" for path in RECORDED[room].split())
