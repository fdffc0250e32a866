"""An SSH server on loopback that lets one key in and runs what it is told, for commands that log in to hosts."""

import asyncio
import os
import sys
import threading
from pathlib import Path

import asyncssh

# Who logs in there finds this checkout's tagloom.
LOGIN = os.environ | {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}


class KeyLogin:
    """The server and its only key, both in `folder`; `before` is put before each command that it runs."""

    def __init__(self, folder, before=""):
        self.folder, self.before, self.commands = folder, before, []
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

        self._server = asyncio.run_coroutine_threadsafe(listen(), self._loop).result(60)
        self.port = self._server.get_port()
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {key.export_public_key().decode()}")

    async def _run(self, process):
        self.commands.append(process.command)
        child = await asyncio.create_subprocess_shell(
            f"exec {self.before} {process.command}", stdin=-3, stdout=-1, stderr=-1, env=LOGIN
        )
        await process.redirect(stdout=child.stdout, stderr=child.stderr)
        process.exit(await child.wait())

    def ssh(self):
        options = {"StrictHostKeyChecking": "yes", "UserKnownHostsFile": self.folder / "known", "BatchMode": "yes"}
        words = " ".join(f"-o {name}={value}" for name, value in options.items())
        return f"ssh -F none -p {self.port} -i {self.folder / 'key'} {words}"

    def host_lines(self, name):
        """Return the lines of an ssh_config that lead `name` here."""
        said = {"HostName": "127.0.0.1", "Port": self.port, "IdentityFile": self.folder / "key"}
        said |= {"UserKnownHostsFile": self.folder / "known", "StrictHostKeyChecking": "yes"}
        return f"Host {name}\n" + "".join(f"  {word} {value}\n" for word, value in said.items())

    def close(self):
        async def end():  # on the loop's own thread: a server may be closed by no other
            self._server.close()
            await self._server.wait_closed()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
