"""Run an event loop in a thread of its own, of which nothing is left when it is closed."""

import asyncio
import threading
from concurrent.futures import Future


class BackgroundLoop:
    """The loop and its thread.

    At its end every task is cancelled and awaited: one that were left would end when garbage is collected, in the
    middle of another test, and fail that.
    """

    def __init__(self):
        begun = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._last(begun)), daemon=True)
        self._thread.start()
        self.loop = begun.result(60)

    async def _last(self, begun):
        self._over = asyncio.Event()
        begun.set_result(asyncio.get_running_loop())
        await self._over.wait()

    def run(self, coroutine, seconds=60):
        """Wait until a coroutine has ended in the loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(seconds)

    def close_server(self, server):
        """Close a server in the loop, where alone it may be closed, and wait until it is."""

        async def end():
            server.close()
            await server.wait_closed()

        self.run(end())

    def close(self):
        self.loop.call_soon_threadsafe(self._over.set)
        self._thread.join()


async def reap(child):
    """End a process that a task of the loop started, even if the task was cancelled.

    Its pipes are closed first: asyncio awaits their end too, which never comes while nobody reads them, and leaves them
    to garbage collection.
    """
    child._transport.close()  # kills the process
    await child.wait()
    await asyncio.sleep(0)
