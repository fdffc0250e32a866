"""The operator's own lines by ansible-playbook alone: in a last wave of their own, and their secrets nowhere."""

from functools import partial

import pytest

from tagloom import platforms
from tagloom.apply.outcomes import Fault
from tagloom.apply.own_lines import OwnLines, send_own_lines
from tagloom.apply.run_directory import Job
from tagloom.apply.session import Session
from tagloom.records.site_lines import SiteLine
from tagloom.render import missing_lines, site_commands

SECRET = "kellerfalle7"
SITE = (
    "sntp server 192.0.2.7\nsnmp-server community {{ secret.c }} ro\n{{ switch.ports[0].interface }}\ndescription x\n"
)


def write_site_build(bench):
    bench.write_build()
    (bench.build / "templates/site").mkdir(parents=True)
    (bench.build / "templates/site/all.j2").write_text(SITE)
    return bench.with_variables(tagloom_secrets={"c": SECRET})


@pytest.mark.slow
def test_ansible_alone_shows_sends_and_hides_them(bench):
    inventory = write_site_build(bench)
    assert bench.by_hand("--check", "--diff", inventory=inventory) == 0
    assert bench.log().count("+snmp-server community ******** ro") == len(bench.names)
    assert bench.configurations() == bench.initial
    assert bench.by_hand("--diff", "-vvv", inventory=inventory) == 0, bench.log()[-3000:]
    log = bench.log()
    for name in bench.names:
        text = bench.configurations()[name]
        assert text.count("sntp server 192.0.2.7\n") == text.count(f"snmp-server community {SECRET} ro\n") == 1
        assert bench.state(name) == bench.target(name)
    assert bench.by_hand("--diff", inventory=inventory) == 0
    assert "changed=1" not in bench.log()
    written = [path for place in (bench.run_directory, bench.build) for path in place.rglob("*") if path.is_file()]
    texts = [path.read_text("utf-8") for path in written if "backups" not in path.parts]
    assert not any(SECRET in text for text in [log, *texts])


def own_lines(bench, switch, *texts):
    platform = platforms.load(bench.models[switch])
    return OwnLines(
        tuple(map(SiteLine, texts)), missing=partial(missing_lines, platform), commands=partial(site_commands, platform)
    )


def test_where_a_cell_of_the_fabric_is_another_afterwards_nothing_is_saved(bench):
    """Somebody else types at the switch between what is read first and what is read back."""
    bench.load("s0", bench.rendered("s0"))
    saved = bench.configurations(startup=True)["s0"]

    def meanwhile(good):
        with bench.connection("s0") as wire:
            wire.send(["interface ethernet g24", "switchport general pvid 101", "exit"])
        return good

    session = Session(bench.connection("s0"), "s0", backups=bench.directory / "backups", agree=meanwhile)
    outcome = send_own_lines(session, bench.language("s0"), own_lines(bench, "s0", "sntp server 192.0.2.9"))
    assert (outcome.fault, outcome.saved) == (Fault.DEVICE, False)
    assert [str(finding) for finding in outcome.findings] == ["s0: g24 pvid: expected 100, actual 101"]
    assert "sntp server 192.0.2.9" in bench.configurations()["s0"]
    assert bench.configurations(startup=True)["s0"] == saved


def test_a_job_with_own_lines_reads_back_as_it_was_written(tmp_path):
    job = Job(tmp_path, own_lines={"s0": [{"text": "hostname a"}]}, only_own=True)
    assert Job.from_json(job.to_json()) == job
