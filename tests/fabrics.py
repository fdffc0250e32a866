"""Make fabrics by family for every test."""

from pathlib import Path

from tagloom.read.fabric_file import parse_fabric

ROOT = Path(__file__).resolve().parents[1]


def make_fabric(family, *dims, parallel=1, hosts=1, model="linux-bridge", extra=""):
    """Read a generated fabric; linux-bridge has ports enough for anything."""
    shape = f"{{family: {family}, dims: {list(dims)}, parallel: {parallel}, hosts: {hosts}}}"
    return parse_fabric(f"name: {family}\nmodel: {model}\nshape: {shape}\n{extra}", "test")
