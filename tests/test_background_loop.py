"""Nothing of a loop in a thread of its own outlives it, to fail another test when garbage is collected."""

import asyncio
import gc
import subprocess
import sys
from pathlib import Path

from background_loop import BackgroundLoop
from fixtures.key_login import KeyLogin


def test_tasks_that_go_on_are_cancelled_and_awaited():
    loop, ended = BackgroundLoop(), []

    async def go_on():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("awaited")

    async def begin():
        return asyncio.create_task(go_on())

    task = loop.run(begin())
    loop.run(asyncio.sleep(0))
    loop.close()
    assert (task.cancelled(), ended) == (True, ["awaited"])


def test_a_login_that_its_host_still_serves_leaves_no_process_and_no_transport(tmp_path, monkeypatch):
    late = []
    login = KeyLogin(tmp_path)
    words = [*login.ssh().split(), "127.0.0.1", "sh -c 'echo $$; exec cat /dev/zero'"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as reader:
        number = int(reader.stdout.readline())
        assert Path(f"/proc/{number}").exists()
        login.close()
        reader.kill()
    assert not Path(f"/proc/{number}").exists()
    monkeypatch.setattr(sys, "unraisablehook", late.append)
    del login
    gc.collect()
    assert late == []
