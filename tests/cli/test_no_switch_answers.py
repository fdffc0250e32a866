"""Where no switch answers, the way to the switches is what to look at, and no switch is called dead."""

from command_line.terminal import Terminal


def test_a_push_while_the_lab_is_down_says_so(tmp_path):
    terminal = Terminal(tmp_path)
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    terminal("lab", "up", "f.yml")
    terminal("lab", "down")
    for words in (["--check"], []):
        page = terminal.answer("apply", "b", *words, expect=3)
        assert page["failed"] == ["s0", "s1", "s2"]
        assert page["next"] == "tagloom lab up inventory/lab/fabric.yml (the lab is down)"
    shown = terminal("apply", "b", expect=3)
    assert "no switch answers" in shown
    assert "--without" not in shown
    (terminal.rack / "rack.log").unlink()  # as of an inventory of real switches
    assert "check the network" in terminal.answer("apply", "b", expect=3)["next"]
