"""Send the lines of a wave's switches in a random order, each switch's in its own."""

from tagloom import platforms
from tagloom.records.change import apply_changes
from tagloom.render import line_changes


def line_by_line(fabric, wave, here, chance, every):
    """Change `here`, the state that the wave meets, line after line; yield after each few lines of one switch."""
    queues = {}
    for patch in wave.patches:
        platform = platforms.of(fabric.switches[fabric.index[patch.switch]])
        queues[patch.switch] = [changes for _, changes in line_changes(platform, patch.changes, here[patch.switch])]
    while queues:
        name = chance.choice(sorted(queues))
        for _ in range(chance.randint(1, every)):
            if queues[name]:
                here[name] = apply_changes(here[name], tuple(queues[name].pop(0)))
        if not queues[name]:
            del queues[name]
        yield
