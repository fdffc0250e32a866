"""Ask ibdmchk, the InfiniBand community's checker, whether tables have a credit loop."""

import re
import subprocess

import needs

IBDMCHK = needs.path_of("ibdmchk")


def write_subnet(directory, switches, links, entries):
    """Write links ((a, port), (b, port)), a host at port 1 of each switch, and ports by (switch, host), as OpenSM."""
    lid = {s: 1 + switches + s for s in range(switches)}
    host_lid = {h: 1 + h for h in range(switches)}

    def end(kind, number, port):
        prefix, at = ("CA", host_lid[number]) if kind == "CA" else ("SW", lid[number])
        guid = f"{(0x100000 if kind == 'CA' else 0x200000) + number * 16:016x}"
        ports = "01" if kind == "CA" else "24"
        return (
            f"{{ {prefix} Ports:{ports} SystemGUID:{guid} NodeGUID:{guid} PortGUID:{guid} VenID:000000 DevID:0000 "
            f"Rev:000000A1 {{{'H' if kind == 'CA' else 'S'}{number}}} LID:{at:04X} PN:{port:02X} }}"
        )

    cables = [(("SW", a, p), ("SW", b, q)) for (a, p), (b, q) in links]
    cables += [(("SW", s, 1), ("CA", s, 1)) for s in range(switches)]
    both = [pair for a, b in cables for pair in ((a, b), (b, a))]
    lines = [f"{end(*a)} {end(*b)} PHY=4x LOG=ACT SPD=2.5" for a, b in both]
    (directory / "opensm-subnet.lst").write_text("\n".join([*lines, ""]), "utf-8")
    tables = []
    for s in range(switches):
        tables += [f"dump_ucast_routes: Switch 0x{0x200000 + s * 16:016x}", "LID    : Port : Hops : Optimal"]
        ports = {host_lid[h]: 1 if h == s else entries[s, h] for h in range(switches) if h == s or (s, h) in entries}
        ports |= {lid[s]: 0}
        tables += [f"0x{number:04X} : {port:03d}  : 01   : yes" for number, port in sorted(ports.items())]
    (directory / "opensm.fdbs").write_text("\n".join([*tables, ""]), "utf-8")


def credit_loop(directory):
    """Return whether ibdmchk finds a credit loop between adapters."""
    done = subprocess.run(
        [IBDMCHK, "-s", directory / "opensm-subnet.lst", "-f", directory / "opensm.fdbs", "-m", "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert re.search(r"Scanned:\d+ CA to CA paths", done.stdout), done.stdout[-2000:]
    loop = "credit loops in routing" in done.stdout
    assert loop or "no credit loops found" in done.stdout, done.stdout[-2000:]
    return loop
