"""Make small fabrics for the virtual rack's tests."""

from pathlib import Path

from tagloom import platforms
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.records.switch_state import SwitchEditor

TEMPLATES = Path(__file__).parents[2] / "templates"


def fabric(count, links=(), model="powerconnect-5324", models=None):
    """Give `count` switches with one host each on port 24; links are (a, port, b, port)."""
    names = models or [model] * count
    return Fabric(
        name="bench",
        switches=tuple(Switch(f"s{i}", names[i]) for i in range(count)),
        hosts=tuple(Host(f"h{i}", i, 24, 0x0200_0000_0000 + i) for i in range(count)),
        links=tuple(Link(*link) for link in links),
        ports=tuple(platforms.load(name).ports for name in names),
    )


def torus(rows, columns, model="powerconnect-5324"):
    """Give a rows x columns torus with one cable per neighbour pair, ports 1 to 4 and the host on 24."""
    links = []
    for y in range(rows):
        for x in range(columns):
            here = y * columns + x
            links.append((here, 1, y * columns + (x + 1) % columns, 2))
            links.append((here, 3, (y + 1) % rows * columns + x, 4))
    return fabric(rows * columns, links, model)


def editors(made):
    return {s.name: SwitchEditor.blank(made.ports[i]) for i, s in enumerate(made.switches)}


def frozen(made):
    return {name: editor.freeze() for name, editor in made.items()}
