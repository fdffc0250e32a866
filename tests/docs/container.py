"""A container without a network, that holds an operating system, Python's libraries, a wheel, and nothing else.

Made by bubblewrap from namespaces of its own (users, mounts, processes, network), without root.
"""

import json
import subprocess
import sys
from pathlib import Path

# Runs one command after the other, so that what a command leaves running (a rack) lives as in any container.
DRIVER = """
import json, subprocess, sys
for line in sys.stdin:
    asked = json.loads(line)
    done = subprocess.run(asked["words"], cwd=asked["cwd"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(json.dumps([done.returncode, done.stdout]), flush=True)
"""
ETC = {
    "passwd": "newcomer:x:1000:1000::/home/newcomer:/bin/sh\n",
    "group": "newcomer:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "passwd: files\nhosts: files\n",
}


class Container:
    """A running container; `run` runs a command in it. `work` is a directory of the host that it sees at its path."""

    def __init__(self, home, site, work):
        (home / "etc").mkdir()
        for name, text in ETC.items():
            (home / "etc" / name).write_text(text, "utf-8")
        seen = dict.fromkeys((sys.base_prefix, sys.prefix, str(site)))  # Python, its libraries, the wheel
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--uid", "1000", "--gid", "1000"]
        words += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 - its own
        words += ["--dir", "/home/newcomer", "--ro-bind", str(home / "etc"), "/etc"]
        for name in ("bin", "lib", "lib64", "sbin"):
            place = Path("/", name)
            if place.is_symlink():
                words += ["--symlink", str(place.readlink()), str(place)]
            elif place.exists():
                words += ["--ro-bind", str(place), str(place)]
        for path in seen:
            words += ["--ro-bind", path, path]
        words += ["--bind", str(work), str(work), "--chdir", str(work)]
        settings = {"PATH": "/usr/bin:/bin", "HOME": "/home/newcomer", "PYTHONPATH": str(site)}
        settings |= {"NO_COLOR": "1", "COLUMNS": "80", "LANG": "C.UTF-8"}
        for name, value in settings.items():
            words += ["--setenv", name, value]
        self._process = subprocess.Popen(
            [*words, sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, words, directory):
        """Run a command, and return its exit status and what it printed on both streams."""
        self._process.stdin.write(json.dumps({"words": list(map(str, words)), "cwd": str(directory)}) + "\n")
        self._process.stdin.flush()
        status, printed = json.loads(self._process.stdout.readline())
        return status, printed

    def close(self):
        """End the container, with all that runs in it."""
        self._process.stdin.close()
        self._process.wait(60)
