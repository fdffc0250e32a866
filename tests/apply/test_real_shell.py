"""Hold the Linux connection against real shells on a terminal, with iproute2 in a network namespace of its own."""

import asyncio
import fcntl
import os
import stat
import termios

import asyncssh
import pytest

import needs
from background_loop import BackgroundLoop, reap
from tagloom.adapters.shell import LinuxSwitch
from tagloom.adapters.ssh import Access
from tagloom.errors import DeviceError
from tagloom.platforms import load
from tagloom.platforms.factory import factory
from tagloom.render import parse_configuration

LINUX = load("linux-bridge")
SHELLS = {"bash": ["bash", "--norc", "-i"], "dash": ["dash", "-i"]}
pytestmark = pytest.mark.needs("ip", "bridge", "ethtool", "network namespaces")


class AnyPassword(asyncssh.SSHServer):
    def begin_auth(self, _username):
        return True

    def password_auth_supported(self):
        return True

    def validate_password(self, _username, _password):
        return True


def own_terminal(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


@pytest.fixture(params=SHELLS)
def shell(request, tmp_path):
    """Serve one of the shells over SSH, each login in a network namespace of its own; gives how to reach it."""
    words = SHELLS[request.param]
    needs.require(words[0])
    logins = set()

    async def login(process):
        logins.add(asyncio.current_task())
        master, slave = os.openpty()
        child = await asyncio.create_subprocess_exec(
            "unshare", "-rn", *words, stdin=slave, stdout=slave, stderr=slave, cwd=tmp_path,
            env={"PATH": needs.PATH, "TERM": "xterm", "PS1": r"lab:\w# " if words[0] == "bash" else "# "},
            preexec_fn=lambda: own_terminal(slave),
        )  # fmt: skip
        os.close(slave)
        try:
            await process.redirect(stdin=os.dup(master), stdout=master)
            await child.wait()
            process.exit(0)
            await process.wait_closed()
        finally:
            await reap(child)

    async def serve():
        key = asyncssh.generate_private_key("ssh-ed25519")
        return await asyncssh.listen(
            "127.0.0.1", 0, server_factory=AnyPassword, server_host_keys=[key], process_factory=login,
            line_editor=False, encoding=None,
        )  # fmt: skip

    loop = BackgroundLoop()
    acceptor = loop.run(serve())
    yield Access(
        "127.0.0.1", acceptor.get_port(), "lab", "lab", host_key_checking=False, save_to=str(tmp_path / "it's here.sh"),
        answer_seconds=20,
    )  # fmt: skip

    if logins:  # a shell ends with its terminal, and its login after it
        loop.run(asyncio.wait(logins, timeout=20))
    loop.close_server(acceptor)
    loop.close()


def test_a_real_shell_is_read_changed_refused_and_keeps_a_script(shell, tmp_path):
    script = "".join(f"# line {n}: it's $HOME; `true`\n" for n in range(50))
    with LinuxSwitch("s0", LINUX, shell) as machine:
        assert machine.identity().startswith("Linux ")
        text = machine.running_configuration()
        assert parse_configuration(LINUX, text).state == factory(LINUX).freeze()
        assert '"ifname":"lo"' in text
        cable = "ip link add name swp1 type veth peer name swp2"
        machine.send([cable])
        with pytest.raises(DeviceError) as caught:
            machine.send(["ip link set dev swp1 up", "ip link set dev nosuch up", "ip link set dev swp2 up"])
        assert (caught.value.command, caught.value.text) == ("ip link set dev nosuch up", 'Cannot find device "nosuch"')
        assert machine.sent == [cable, "ip link set dev swp1 up"]
        with pytest.raises(DeviceError, match="netlink error: Operation not supported"):
            machine.send(["ethtool --set-eee swp1 eee on"])
        with pytest.raises(DeviceError, match="not found"):
            machine.send(["tagloom-knows-no-such-program"])
        assert '"ifname":"swp1"' in machine.running_configuration()
        assert machine.save(script)
    kept = tmp_path / "it's here.sh"
    assert kept.read_text("utf-8") == script
    assert stat.S_IMODE(kept.stat().st_mode) == 0o755
