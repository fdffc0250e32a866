"""Check that what HiGHS writes by itself stays off standard output, where a command's JSON goes."""

import os
import re
import sys

import numpy as np
import scipy.optimize

from fabrics import ROOT
from tagloom.graph.integer_programs import solve_program


def test_messages_of_the_solver_go_to_standard_error(capfd, monkeypatch):
    solver = scipy.optimize.milp

    def talking(cost, **options):
        os.write(1, b"transformNewIntegerFeasibleSolution\n")
        return solver(cost, **options)

    monkeypatch.setattr(scipy.optimize, "milp", talking)
    answer = solve_program(np.array([1.0]), bounds=scipy.optimize.Bounds(2, 3))
    sys.stdout.write("kept\n")
    written = capfd.readouterr()
    assert (answer.fun, written.out, written.err) == (2, "kept\n", "transformNewIntegerFeasibleSolution\n")


def test_no_other_module_calls_the_solver():
    calling = [
        str(path.relative_to(ROOT / "tooling" / "tagloom"))
        for path in (ROOT / "tooling" / "tagloom").rglob("*.py")
        if re.search(r"\bmilp\(", path.read_text())
    ]
    assert calling == ["graph/integer_programs.py"]
