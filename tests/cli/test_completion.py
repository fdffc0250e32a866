"""A real shell completes commands, options and file names as `tagloom completion` tells it to."""

import json
import os
import subprocess

import pytest

from tagloom.cli import main

ASK = """
source {script}
words=({words})
COMP_WORDS=("${{words[@]}}") COMP_CWORD=$((${{#words[@]}} - 1))
function=$(complete -p tagloom | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function tagloom "${{words[-1]}}" "${{words[-2]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    return tmp_path_factory.mktemp("completion") / "tagloom.bash"


@pytest.mark.needs("bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tagloom roll", {"rollout", "rollback"}),
        ("tagloom measure p", {"pingpong", "power"}),
        ("tagloom regulate fabric.yml --method ''", {"static", "greedy", "optimal"}),
        ("tagloom plan --prefer ''", {"vlans", "load"}),
        ("tagloom verify bui", {"build"}),
    ],
    ids=["command", "second", "choice", "option", "path"],
)
def test_bash_completes(words, offered, script, tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    script.write_text(capsys.readouterr().out)
    (tmp_path / "build").mkdir()
    done = subprocess.run(
        ["bash", "-c", ASK.format(script=script, words=words)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == offered


@pytest.mark.needs("fish")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tagloom roll", {"rollout", "rollback"}),
        ("tagloom docs --js", {"--json"}),
        ("tagloom measure p", {"pingpong", "power"}),
    ],
    ids=["command", "option", "second"],
)
def test_fish_completes(words, offered, tmp_path, capsys):
    assert main(["completion", "fish"]) == 0
    (tmp_path / "tagloom.fish").write_text(capsys.readouterr().out)
    ask = f"source {tmp_path}/tagloom.fish; complete -C '{words}'"
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["fish", "--no-config", "-c", ask], env=environment, capture_output=True, text=True, check=True
    )
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == offered


def test_other_shells_are_answered_and_unknown_ones_refused(capsys):
    for shell in ("zsh", "fish", "tcsh"):
        assert main(["completion", shell, "--json"]) == 0
        assert "rollout" in json.loads(capsys.readouterr().out)["text"]
    assert main(["completion", "ksh"]) == 2
