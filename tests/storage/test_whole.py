"""A disk without room and a place that is read-only, made of a tmpfs in a mount namespace of our own."""

import re
import subprocess
import sys

import pytest

from thinned import daily, few

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
NEW = f"{sys.executable} -P -m tagloom.cli new ring --dims 40 -o"


def _in_namespace(script, *words):
    return subprocess.run([*NAMESPACE, "sh", "-euc", script, "sh", *map(str, words)], capture_output=True, text=True)  # noqa: PLW1510 - judged


@pytest.mark.needs("mount namespaces")
def test_a_full_disk_is_told_and_the_old_file_stays(tmp_path):
    script = f"""
        mount -t tmpfs -o size=12k none "$1"; cd "$1"; echo old > ring.yml; head -c 8192 /dev/zero > filler || true
        status=0; {NEW} ring.yml --force || status=$?
        cat ring.yml; ls -A | tr '\\n' ' '; exit $status
    """
    ended = _in_namespace(script, tmp_path)
    assert (ended.returncode, ended.stdout.splitlines()) == (2, ["old", "filler ring.yml "])
    assert (
        ended.stderr.splitlines()[0] == "ring.yml: expected a file that can be written, actual No space left on device"
    )


@pytest.mark.needs("mount namespaces")
@pytest.mark.parametrize("name", ["ring.yml", "other.yml", "deeper/ring.yml"])
def test_a_place_that_is_read_only_is_told_and_stays_as_it_is(tmp_path, name):
    script = f"""
        mount -t tmpfs none "$1"; cd "$1"; echo old > ring.yml; mount -o remount,ro "$1"
        status=0; {NEW} "$2" --force || status=$?
        cat ring.yml; ls -A; exit $status
    """
    ended = _in_namespace(script, tmp_path, name)
    assert (ended.returncode, ended.stdout.splitlines()) == (2, ["old", "ring.yml"])
    assert ended.stderr.splitlines()[0] == f"{name}: expected a file that can be written, actual Read-only file system"


@pytest.mark.slow
@pytest.mark.needs("mount namespaces")
@pytest.mark.parametrize(
    ("options", "what"), few([("size=12k", "No space left on device"), ("ro", "Read-only file system")], 0)
)
def test_a_build_that_finds_no_room_leaves_the_place_as_it_was(tmp_path, options, what):
    script = f"""
        mount -t tmpfs -o {options} none "$1"; cd "$1"
        status=0; {sys.executable} -P -m tagloom.cli plan "$2" -o build || status=$?
        ls -A; exit $status
    """
    fabric = tmp_path / "ring.yml"
    subprocess.run([*NEW.split(), str(fabric)], check=True, capture_output=True)
    place = tmp_path / "place"
    place.mkdir()
    ended = _in_namespace(script, place, fabric)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert what in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.needs("mount namespaces")
def test_a_file_that_is_a_mount_of_its_own_and_read_only_is_told_and_stays_as_it_is(tmp_path):
    """As containers are given single files: beside it there is room, and it can be neither written nor replaced."""
    script = f"""
        cd "$1"; echo old > ring.yml; mount --bind ring.yml ring.yml; mount -o remount,bind,ro ring.yml
        status=0; {NEW} ring.yml --force || status=$?
        cat ring.yml; ls -A; exit $status
    """
    ended = _in_namespace(script, tmp_path)
    assert (ended.returncode, ended.stdout.splitlines()) == (2, ["old", "ring.yml"])
    assert ended.stderr.splitlines()[0].startswith("ring.yml: expected a file that can be written, actual ")


@pytest.mark.slow
@pytest.mark.needs("mount namespaces")
@pytest.mark.parametrize("options", daily(["size=128k", "ro"], 0), ids=["full", "read-only"])
@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("regulate ../ring.yml --traffic ../m.csv --method greedy -o", "s.json"),
        ("predict ../build --record --store", "f.db"),
    ],
    ids=["settings", "a new store"],
)
def test_settings_and_stores_that_find_no_room_are_told_and_leave_no_part(tmp_path, options, command, file):
    """A store's file may be there, of no bytes: another process may have opened it."""
    script = f"""
        mkdir "$1/place"; mount -t tmpfs -o size=128k none "$1/place"; cd "$1/place"
        head -c 200k /dev/zero > filler 2>&- || true; mount -o "remount,$2" "$1/place"
        status=0; {sys.executable} -P -m tagloom.cli {command} {file} || status=$?
        find . -size +0 -type f; exit $status
    """
    tagloom = [sys.executable, "-P", "-m", "tagloom.cli"]
    for made in (["new", "ring", "--dims", "4", "-o", "ring.yml"], ["plan", "ring.yml", "-o", "build"]):
        subprocess.run([*tagloom, *made], check=True, capture_output=True, cwd=tmp_path)
    (tmp_path / "m.csv").write_text("source,destination,bytes\nh0,h1,1\n")
    ended = _in_namespace(script, tmp_path, options)
    assert (ended.returncode, ended.stdout) == (2, "./filler\n"), ended.stderr
    *_, found, changed = ended.stderr.splitlines()  # behind what is remarked on the way
    assert re.fullmatch(r"1 finding; nothing was changed; read on: tagloom docs [a-z-]+", changed)
    assert re.fullmatch(
        f"{file}: expected .* that can be (written|used), actual .*( full|space|Read-only|unable).*", found
    )
