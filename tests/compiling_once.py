"""Let one of several processes compile a kernel, while others that need it wait and then load it."""

import fcntl
from pathlib import Path

import tagloom

PACKAGE = Path(tagloom.__file__).parent


def compile_each_kernel_once():
    """Let this process and what it forks take turns at each kernel with others that do."""
    from numba.core.dispatcher import Dispatcher  # noqa: PLC0415 - a single process needs no lock

    compile_kernel = Dispatcher.compile

    def compile_alone(self, signature):
        kernel = self.py_func.__code__
        source = Path(kernel.co_filename)
        if PACKAGE not in source.parents:  # what numba brings calls itself
            return compile_kernel(self, signature)
        with (source.with_name("__pycache__") / f"{source.stem}.{kernel.co_name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return compile_kernel(self, signature)

    Dispatcher.compile = compile_alone
