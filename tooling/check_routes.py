"""Check a certificate of lossless routes: python3 tooling/check_routes.py CERTIFICATE ROUTES.

ROUTES is a file of paths (source,destination,path[,priority]) or a directory with links.csv (a,a_port,b,b_port) and
tables.csv (switch,destination,ports). Reads them by itself and shares no code with tagloom. Yes: whatever channel a
frame holds, the channel it may wait for has a higher rank, so no circle of frames waits for itself (Dally and Seitz
1987). Where the certificate has ranks by priority, that is checked for each. Not checked: whether frames arrive.
Exit: 0 yes, 1 no, 2 unreadable input.
"""

import csv
import json
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path


def rows(path, header):
    """Read the rows of a CSV file with that header, comments left out."""
    lines = [line for line in Path(path).read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    found = list(csv.reader(lines))
    if not found or [cell.strip() for cell in found[0]][: len(header)] != header:
        raise ValueError(f"{path}: expected the header {','.join(header)}")
    return [[cell.strip() for cell in row] for row in found[1:]]


def of_paths(path):
    """List (priority, channel held, channel wanted) of paths; a channel is SWITCH:PORT, or A>B if no port is named."""
    for cells in rows(path, ["source", "destination", "path"]):
        hops = cells[2].split()
        taken = [a if ":" in a else f"{a}>{b.split(':')[0]}" for a, b in pairwise(hops)]
        for held, wanted in pairwise(taken):
            yield cells[3] if len(cells) > 3 else "", held, wanted


def of_tables(directory):
    """List the same of tables, whose frames start wherever a destination is delivered."""
    leads = {}
    for a, a_port, b, b_port in rows(directory / "links.csv", ["a", "a_port", "b", "b_port"]):
        leads[a, a_port], leads[b, b_port] = b, a
    entry = defaultdict(dict)
    for switch, destination, ports in rows(directory / "tables.csv", ["switch", "destination", "ports"]):
        entry[destination][switch] = [port for port in ports.split() if (switch, port) in leads]
    senders = {switch for table in entry.values() for switch, ports in table.items() if not ports}
    for table in entry.values():
        reached, queue = set(senders), list(senders)
        while queue:
            here = queue.pop()
            for port in table.get(here, ()):
                there = leads[here, port]
                for onward in table.get(there, ()):
                    yield "", f"{here}:{port}", f"{there}:{onward}"
                if there not in reached:
                    reached.add(there)
                    queue.append(there)


def check(certificate, routes):
    """Return what contradicts the certificate, or ""."""
    plain = json.loads(Path(certificate).read_text("utf-8"))
    if plain["format"] != 1 or len(set(plain["channels"])) != len(plain["channels"]):
        raise ValueError(f"{certificate}: expected format 1 and channels that differ")
    number = {name: n for n, name in enumerate(plain["channels"])}
    if any(len(each) != len(number) for each in plain["ranks"].values()):
        raise ValueError(f"{certificate}: expected a rank for each channel")
    routes = Path(routes)
    for priority, held, wanted in of_tables(routes) if routes.is_dir() else of_paths(routes):
        ranks = plain["ranks"].get("", plain["ranks"].get(priority))
        if ranks is None or held not in number or wanted not in number:
            return f"no rank for {held} or {wanted}" + (f" in priority {priority}" if priority else "")
        if not ranks[number[held]] < ranks[number[wanted]]:
            return f"{held} may wait for {wanted}, whose rank is not higher"
    return ""


def main():
    """Answer the command line."""
    if len(sys.argv) != 3:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    try:
        wrong = check(*sys.argv[1:])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        print(f"unreadable: {error!r}", file=sys.stderr)
        return 2
    print(f"NO: {wrong}" if wrong else "yes: every frame waits for channels of higher rank alone")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
