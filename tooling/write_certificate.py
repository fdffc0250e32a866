"""Write a build's certificate for the proven checker: python3 tooling/write_certificate.py BUILD > FILE.

Reads the build's configuration texts with tagloom's parsers, and the ranks from its plan.json. What is then
checked, and what stays trusted: docs/explanation/proofs.md. Exit: 0 written, 1 the checker's model lacks something, 2
bad input.
"""

import json
import sys
from pathlib import Path

import numpy as np

from tagloom.errors import TagloomError
from tagloom.pipeline import read_build
from tagloom.render.certificate_text import certificate_text

if __name__ == "__main__":
    try:
        build = read_build(Path(sys.argv[1]))
        states = {name: [state] for name, state in build.state.items()}
        rows = json.loads((Path(sys.argv[1]) / "plan.json").read_text("utf-8"))["certificate"]["ranks"]
        sys.stdout.write(certificate_text(build.fabric, states, np.array([rank for *_, rank in rows])))
    except TagloomError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)
    except (IndexError, KeyError) as error:
        print(f"usage: write_certificate.py BUILD, a build with a certificate; {error!r:.200}", file=sys.stderr)
        sys.exit(2)
