"""Compare texts with the reviewed ones under tests/golden, or renew these where `--update-golden` says so."""

import shutil
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
RENEW = "pytest --update-golden renews it; read the diff before it is committed"


class Golden:
    """The reviewed texts; with `update` they are written, and those that nothing makes any more are removed."""

    def __init__(self, home=GOLDEN, *, update=False):
        self.home, self.update = home, update

    def check(self, name, text):
        """Compare a text with the file of this name."""
        path = self.home / name
        if self.update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        assert path.is_file(), f"{path} is missing: {RENEW}"
        assert text == path.read_text("utf-8"), f"{path} holds another text: {RENEW}"

    def check_names(self, folder, names):
        """See that a folder holds what has these names and nothing that no test compares any more."""
        held = {path.name for path in (self.home / folder).iterdir() if path.suffix != ".py"}
        stale = held - {*names, "__pycache__"}
        for name in stale if self.update else ():
            path = self.home / folder / name
            (shutil.rmtree if path.is_dir() else Path.unlink)(path)
        assert self.update or not stale, f"{folder}: no test makes {sorted(stale)}: {RENEW}"
