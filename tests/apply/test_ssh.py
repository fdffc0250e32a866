"""One login to one virtual switch: the traps of the conversation, each sprung."""

import asyncio
import itertools
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tagloom import platforms
from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.platforms.secrets import scrub

MODELS = pytest.mark.parametrize("switch", ["s0", "s1"], ids=["ros", "fastpath"])
LINES = ("vlan database", "vlan 100", "exit")


@MODELS
def test_lines_are_answered_one_by_one_and_the_session_ends_in_privileged_exec(bench, switch):
    with bench.connection(switch) as connection:
        transcript = connection.send(LINES)
        assert [line for line, _ in transcript] == list(LINES)
        assert connection.sent == list(LINES)
        assert connection.running_configuration().count("vlan 100\n") == 1
        connection.save()
        connection.send(("vlan database", "no vlan 100", "exit"))
    assert "vlan 100" in bench.configurations(startup=True)[switch]
    assert "vlan 100" not in bench.configurations()[switch]


@MODELS
def test_no_wait_lasts_for_as_long_as_the_clock_is_set_back(bench, switch, monkeypatch):
    looks = itertools.count()
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0 - 3600.0 * next(looks))
    with bench.connection(switch) as connection:
        connection.send(("vlan database", "vlan 100", "no vlan 100", "exit"))
        assert bench.initial[switch].splitlines()[-1] in connection.running_configuration()


@MODELS
def test_a_refused_line_ends_the_batch_and_leaves_no_submode_behind(bench, switch):
    with bench.connection(switch) as connection:
        with pytest.raises(DeviceError) as raised:
            connection.send(("vlan database", "vlan 100", "vlan 9999", "vlan 101", "exit"))
        assert raised.value.command == "vlan 9999"
        assert raised.value.switch == switch
        assert connection.sent == ["vlan database", "vlan 100"]
        connection.send(LINES)
    assert "101" not in bench.configurations()[switch]


@MODELS
def test_a_batch_that_ends_in_a_submode_is_an_error(bench, switch):
    with bench.connection(switch) as connection:
        with pytest.raises(DeviceError, match=r"ended in \(config-vlan\), not at \(config\)"):
            connection.send(LINES[:-1])
        connection.send(LINES)


@MODELS
def test_prompts_full_of_control_bytes_are_read(bench, switch):
    bench.quirk(switch, raw=True)
    with bench.connection(switch) as connection:
        connection.send(LINES)
        assert bench.initial[switch].splitlines()[-1] in connection.running_configuration()
        connection.save()


def test_a_switch_that_calls_itself_as_another_is_sent_nothing_unless_the_inventory_says_so(bench):
    platform, others = platforms.load(bench.models["s1"]), frozenset({"s1", "s2"})
    with (
        pytest.raises(DeviceError, match=r"s0 at 'login': calls itself s1, .*tagloom_own_name: s1 for s0"),
        SshSwitch("s0", platform, bench.access("s1", others=others)),
    ):
        pass
    for changes in ({"own_name": "s1", "others": others}, {"others": frozenset({"s2"})}):
        with SshSwitch("s0", platform, bench.access("s1", **changes)) as session:
            assert "hostname s1" in session.running_configuration()


@MODELS
def test_a_switch_that_garbles_echoes_is_talked_to_by_prompts_alone(bench, switch):
    with bench.connection(switch, echo=False) as connection:
        assert [line for line, _ in connection.send(LINES)] == list(LINES)
        connection.save()
        assert "vlan 100\n" in connection.running_configuration()
        with pytest.raises(DeviceError) as raised:
            connection.send(("vlan database", "vlan 9999", "exit"))
        assert raised.value.command == "vlan 9999"


@MODELS
def test_old_firmware_that_cannot_turn_its_pager_off_is_paged_through(bench, switch):
    speak = {"s0": "no terminal datadump", "s1": "terminal length 24"}
    bench.load(switch, bench.rendered(switch))
    with bench.connection(switch) as connection:
        whole = connection.running_configuration()
        connection._exchange(speak[switch])
        paged = connection.running_configuration()
    assert [line for line in map(str.strip, paged.splitlines()) if line] == [
        line for line in whole.splitlines() if line
    ]


def test_a_locked_configuration_is_told(bench):
    bench.quirk("s0", locked=True)
    with bench.connection("s0") as connection, pytest.raises(DeviceError, match="Database locked") as raised:
        connection.send(LINES)
    assert raised.value.command == "configure"


def test_the_long_delays_of_a_real_5324_work_too(bench):
    bench.quirk("s0", delay_seconds=0.1)
    with bench.connection("s0", fast_cli=False) as connection:
        connection.send(LINES)


def test_a_switch_that_does_not_answer_in_time_is_told_with_its_line(bench):
    with bench.connection("s0", answer_seconds=1.0) as connection:
        bench.quirk("s0", delay_seconds=1.5)
        with pytest.raises(DeviceError, match="no answer in 1 s") as raised:
            connection.running_configuration()
        assert raised.value.command == "show running-config"


def test_a_session_cut_is_noticed_at_once_and_not_after_the_time_out(bench):
    with bench.connection("s1", answer_seconds=60) as connection:
        process.reboot(bench.rack, "s1")
        with pytest.raises(DeviceError, match="dropped"):
            connection.running_configuration()


def test_many_logins_to_many_switches_at_once_do_not_mix(bench):
    def read(switch):
        with bench.connection(switch) as connection:
            return connection.running_configuration()

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(read, bench.names * 2))
    assert [text.strip("\n") for text in texts] == [bench.initial[name].strip("\n") for name in bench.names * 2]


@contextmanager
def far_away(port, seconds):
    """Relay a port of this machine to a switch, what the switch says later by some seconds; gives the port."""
    listening, leave = Future(), asyncio.Event()

    async def relay(near, to_near):
        loop = asyncio.get_running_loop()
        far, to_far = await asyncio.open_connection("127.0.0.1", port)

        async def there():
            while piece := await near.read(4096):
                to_far.write(piece)
            to_far.close()

        async def back():
            while piece := await far.read(4096):
                loop.call_later(seconds, to_near.write, piece)
            loop.call_later(seconds, to_near.close)

        await asyncio.gather(there(), back(), return_exceptions=True)

    async def relay_until_left():
        async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
            listening.set_result((asyncio.get_running_loop(), server.sockets[0].getsockname()[1]))
            await leave.wait()

    with ThreadPoolExecutor(1) as thread:
        relaying = thread.submit(asyncio.run, relay_until_left())
        loop, here = listening.result(timeout=60)
        try:
            yield here
        finally:
            loop.call_soon_threadsafe(leave.set)
        relaying.result(timeout=60)


@MODELS
def test_a_switch_far_away_is_not_hurried_into_refusing_a_quick_login(bench, switch):
    with (
        far_away(bench.info.ports[switch], 0.3) as port,
        bench.connection(switch, port=port, host_key_checking=False) as connection,
    ):
        assert connection.running_configuration().strip("\n") == bench.initial[switch].strip("\n")


def test_a_wrong_password_is_told_as_one(bench):
    with pytest.raises(DeviceError, match="refused for user 'lab'"), bench.connection("s0", password="wrong"):
        pass


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("username plant password 0123 level 15 encrypted", "username plant password <hidden> level 15 encrypted"),
        ("enable password level 15 encrypted 77fe", "enable password level 15 encrypted <hidden>"),
        ('snmp-server community "two words" rw', "snmp-server community <hidden> rw"),
        ("radius-server host 192.0.2.1 key s3cret", "radius-server host 192.0.2.1 key <hidden>"),
        ("tacacs-server key s3cret", "tacacs-server key <hidden>"),
        ("encrypted radius-server key s3cret", "encrypted radius-server key <hidden>"),
        ("radius-server key encrypted 99ab", "radius-server key encrypted <hidden>"),
        ("snmp-server user u g v3 auth md5 s3cret priv des ano-s3cret",
         "snmp-server user u g v3 auth md5 <hidden> priv des <hidden>"),
        ("ip ssh server", "ip ssh server"),
    ],
)  # fmt: skip
def test_secrets_are_hidden(line, shown):
    assert scrub(f"before\n{line}\nafter") == f"before\n{shown}\nafter"


def test_an_access_says_nothing_of_its_secrets():
    assert "hush" not in repr(Access("192.0.2.1", user="admin", password="hush", enable_password="hush"))
