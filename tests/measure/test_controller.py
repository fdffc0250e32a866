"""The controller: both ends started over real SSH, by keys."""

import asyncio
import json
import os
import shutil
import sqlite3
import sys
import threading

import asyncssh
import pytest

from tagloom.cli import main
from tagloom.measure.ends import over_ssh

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="the controller needs ssh")
PEER = f"{sys.executable} -m tagloom.cli"


class Host:
    """An SSH server on loopback that runs what it is told, and lets one key in."""

    def __init__(self, folder):
        self.folder, self.commands = folder, []
        key, mine = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
        (folder / "key").write_bytes(mine.export_private_key())
        (folder / "key").chmod(0o600)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        allowed = asyncssh.import_authorized_keys(mine.export_public_key().decode())

        async def listen():
            return await asyncssh.listen(
                "127.0.0.1",
                0,
                server_host_keys=[key],
                authorized_client_keys=allowed,
                process_factory=self._run,
                encoding=None,
            )

        self._server = asyncio.run_coroutine_threadsafe(listen(), self._loop).result(10)
        self.port = self._server.get_port()
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {key.export_public_key().decode()}")

    async def _run(self, process):
        self.commands.append(process.command)
        child = await asyncio.create_subprocess_shell(
            f"exec {process.command}", stdin=-3, stdout=-1, stderr=-1, env=os.environ
        )
        await process.redirect(stdout=child.stdout, stderr=child.stderr)
        process.exit(await child.wait())

    def ssh(self):
        options = {"StrictHostKeyChecking": "yes", "UserKnownHostsFile": self.folder / "known", "BatchMode": "yes"}
        words = " ".join(f"-o {name}={value}" for name, value in options.items())
        return f"ssh -F none -p {self.port} -i {self.folder / 'key'} {words}"

    def close(self):
        self._server.close()
        asyncio.run_coroutine_threadsafe(self._server.wait_closed(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def host(tmp_path):
    made = Host(tmp_path)
    yield made
    made.close()


def test_both_ends_are_started_over_ssh_and_their_clocks_checked(host, capsys, tmp_path):
    words = ["measure", "pingpong", "--hosts", "127.0.0.1", "127.0.0.1", "--ssh", host.ssh(), "--remote", PEER]
    store = tmp_path / "k.db"
    status = main([*words, "--max-bytes", "16", "--target", "0.002", "--trials", "2", "--keep", str(store), "--json"])
    page = json.loads(capsys.readouterr().out)
    assert (status, page["complete"]) == (0, True)
    assert [p["bytes"] for p in page["points"]] == [1, 2, 3, 4, 6, 8, 12, 13, 16, 19]
    assert page["clock"]["uncertainty_seconds"] < 1
    with sqlite3.connect(store) as kept:
        assert kept.execute("SELECT count(*) FROM measurement").fetchone() == (20,)
    assert ["--serve" in c for c in host.commands] == [True, False]
    assert not any("assword" in c for c in host.commands)


def test_a_host_that_does_not_let_us_in_is_a_device_that_failed(host, capsys):
    (host.folder / "key").unlink()
    words = ["measure", "pingpong", "--hosts", "127.0.0.1", "127.0.0.1", "--ssh", host.ssh(), "--remote", PEER]
    status = main([*words, "--json"])
    assert status == 3
    assert "denied" in json.loads(capsys.readouterr().out)["error"]["text"].lower()


def test_nobody_is_asked_for_a_password():
    assert "BatchMode=yes" in over_ssh("n1", ["true"])
