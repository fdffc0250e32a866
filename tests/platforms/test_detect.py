"""A switch is told by what it says of itself, and never by its brand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagloom import platforms
from tagloom.platforms.detect import by_object_id, by_text, mistaken

PAGES = Path(__file__).parents[1] / "data" / "shows"
DELL = "1.3.6.1.4.1.674.10895."


@pytest.mark.parametrize(
    ("object_id", "models"),
    [
        (f"{DELL}3004", ("powerconnect-5324",)),
        (f".{DELL}3010", ("powerconnect-6224",)),
        (f"{DELL}3013", ("powerconnect-6248",)),
        (f"{DELL}3023", ("powerconnect-8024",)),
        (f"{DELL}3024", ("powerconnect-8024f",)),
        (f"{DELL}3031", ("powerconnect-5548",)),
        (f"{DELL}3035", ("powerconnect-7048",)),
        (f"{DELL}3054", ("n-series",)),
        (f"{DELL}3025", ()),  # M6348: no page of ours
        (f"{DELL}300", ()),
        ("1.3.6.1.4.1.9.6.1.82.24.2", ()),
    ],
)
def test_object_ids_of_the_dell_reference_mib(object_id, models):
    assert by_object_id(object_id).models == models


def test_no_object_id_is_of_two_models():
    seen = [oid for model in platforms.models() for oid in platforms.load(model).sys_object_id]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ((PAGES / "5324_system.txt").read_text(), ("powerconnect-5324",)),
        ("Neyland 24T", ("powerconnect-5324",)),
        ("System Description:                       Neyland 24T\r\r\n", ("powerconnect-5324",)),
        ("Type:                                     PowerConnect 5448", ("powerconnect-5448",)),
        ("PowerConnect 6248, 3.3.18.1, VxWorks 6.5", ("powerconnect-6248",)),
        ('!System Description "PowerConnect 6224, 3.3.4.1, VxWorks 6.5"\nconfigure', ("powerconnect-6224",)),
        ("Machine Type...................... PowerConnect 7048P", ("powerconnect-7048",)),
        ("System Description: PowerConnect 8024F, 5.1.0.1", ("powerconnect-8024f",)),
        ('!System Description "Powerconnect 8024F, 3.1.4.5, VxWorks 6.5"', ("powerconnect-8024f",)),
        ('!System Description "POWERCONNECT 7048, 5.1.0.1, VxWorks 6.6"', ("powerconnect-7048",)),
        ("Machine Type...................... Dell Networking N2048P", ("n-series",)),
        ("S5720-52X-EI-AC\r\nHuawei Versatile Routing Platform Software\r\n VRP", ("huawei-s5720-52x-ei",)),
        ("S5731-S48T4X\\r\\nHuawei Versatile Routing Platform Software", ("huawei-s5731-s48t4x",)),
        ("S5720-52X-LI-AC\nHuawei Versatile Routing Platform Software", ()),
        ((PAGES / "m6348_version.txt").read_text(), ()),
        ("% Unrecognized command", ()),
        ("", ()),
    ],
)
def test_what_switches_say_of_themselves(text, models):
    assert by_text(text).models == models


def test_the_object_id_outweighs_a_description_that_anyone_may_have_written():
    page = f"System Description: PowerConnect 6224\nSystem Object ID: {DELL}3011\n"
    assert by_text(page).models == ("powerconnect-6248",)


def test_a_switch_of_another_model_is_a_finding_that_names_both():
    (finding,) = mistaken("powerconnect-6224", (PAGES / "5324_system.txt").read_text(), "s0")
    assert str(finding) == f"s0: model: expected powerconnect-6224, actual powerconnect-5324 ({DELL}3004)"
    assert mistaken("powerconnect-5324", (PAGES / "5324_system.txt").read_text(), "s0") == ()
    assert mistaken("powerconnect-5324", "a page that says nothing", "s0") == ()
