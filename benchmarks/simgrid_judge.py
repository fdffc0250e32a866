"""Move flows over a platform with SimGrid: the rates it gives them at first, when each has finished, its CPU seconds.

Run by the system's Python, which has SimGrid's module (Debian: apt-get install python3-simgrid):
    simgrid_judge.py PLATFORM rates|finish < flows, lines of SOURCE DESTINATION BYTES
Prints a number for each flow, one a line, then the CPU seconds of the simulation alone, without reading the platform.
"""

import sys
import time

from simgrid import Actor, Comm, Engine, Host, this_actor

LONG_BYTES = 1e15  # so that none finishes while rates are read
SETTINGS = (
    "network/model:CM02",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/weight-S:0",
    "network/crosstraffic:0",
    "network/TCP-gamma:0",
    "contexts/stack-size:8192",
    "maxmin/precision:1e-9",
)


def main(platform: str, what: str) -> None:
    engine = Engine([sys.argv[0], *(f"--cfg={each}" for each in SETTINGS), "--log=root.thres:critical"])
    engine.load_platform(platform)
    flows = [line.split() for line in sys.stdin]
    host = {each.name: each for each in engine.all_hosts}
    answers = []

    def send() -> None:
        began = time.process_time()
        if what == "rates":
            sent = [Comm.sendto_async(host[a], host[b], int(LONG_BYTES)) for a, b, _ in flows]
            this_actor.sleep_for(1.0)
            answers.extend(8 * (LONG_BYTES - comm.remaining) for comm in sent)
            for comm in sent:
                comm.cancel()
        else:
            sent = [Comm.sendto_async(host[a], host[b], int(size)) for a, b, size in flows]
            Comm.wait_all(sent)
            answers.extend(comm.finish_time for comm in sent)
        answers.append(time.process_time() - began)

    Actor.create("sender", Host.by_name(flows[0][0]), send)
    engine.run()
    print("\n".join(f"{answer:.12g}" for answer in answers))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
