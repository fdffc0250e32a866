"""The rows of docs/papers.md on Blanquicet, Christensen 2007."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import rate_switch
import rps_transfers
from paper_rows import HERE, NOT_RUN, Row, column

from judges.transfers import tcp_transfer, udp_transfer
from tagloom import platforms
from tagloom.predict.rate_switch import longest_pause_seconds, loss_probability, lost_bytes

TITLE = (
    "Blanquicet, Christensen: *An Initial Performance Evaluation of Rapid PHY Selection (RPS) for Energy Efficient "
    "Ethernet*, IEEE LCN, 2007"
)
RATES = "[rates](../benchmarks/results/rate-switch.md), `python benchmarks/rate_switch.py`"
TRANSFERS = "[transfers](../benchmarks/results/rps-transfers.md), `python benchmarks/rps_transfers.py`"
MEASURE = "`tagloom measure rps --namespaces` ([measuring](measure.md))"
MODELS = "powerconnect-5324", "powerconnect-6224", "powerconnect-6248", "sf-0420g"
OUTAGES = rate_switch.OUTAGES


def listed(values: list[float], digits: int = 2) -> str:
    """Return numbers with so many decimals, separated by commas."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def watts_of_a_link() -> list[float]:
    """Return the watts that both ends of a link draw more at 1 Gb/s than at 100 Mb/s, by measured model."""
    pages = [platforms.load(model).watts for model in MODELS]
    return [2 * (page.per_port[1000] - page.per_port[100]) for page in pages if page is not None]


def simulated(name: str) -> str:
    """Return the seconds of a row of the simulated table I, for all interruptions."""
    return ", ".join(column("rps-transfers.md", "| PAUSE |", f"{name} |", slice(1, 4)))


def tables() -> list[Row]:
    """Return the rows on Tables I and II."""
    off, on = (listed([rate_switch.TABLE_1[t][i] for t in OUTAGES]) for i in (0, 1))
    took = listed([tcp_transfer(rate_switch.UNDISTURBED, t, 1.0).seconds for t in OUTAGES])
    holds = listed([1e3 * rate_switch.hold_seconds(t) for t in OUTAGES], 1)
    udp = {
        pause: [udp_transfer(rate_switch.UDP_BYTES, rate_switch.UDP_BPS, t, 1.0, pause=pause) for t in (0.0, *OUTAGES)]
        for pause in (False, True)
    }
    seconds = [listed([rate_switch.UDP_UNDISTURBED, *(rate_switch.UDP_SECONDS[t][i] for t in OUTAGES)]) for i in (0, 1)]
    return [
        (
            "T1",
            "seconds of a TCP transfer, T = 1, 10, 20 ms, PAUSE off in the server",
            off,
            f"simulated {simulated('off')}; arithmetic {took}",
            f"{TRANSFERS}; {RATES}; a send buffer hides 1 ms, and what the switch loses is sent again meanwhile",
        ),
        (
            "T1",
            "the same, PAUSE on",
            on,
            (
                f"simulated {simulated('on, repeated while the link is away')}; if the switch took its PAUSE back, "
                f"{simulated('on, taken back')}"
            ),
            (
                f"{TRANSFERS}. Each interruption cost {holds} ms more than T. A PAUSE frame of 33.6 ms not taken back "
                "explains the first; 0.1 and 0.2 s of the others stay open, in the paper, too"
            ),
        ),
        (
            "T1 text",
            "T = 20 ms: emulated time of 15 interruptions; slower, PAUSE off",
            "300 ms; about 300 ms",
            f"300 ms; {1e3 * (float(simulated('off').split(', ')[2]) - rate_switch.UNDISTURBED):.0f} ms",
            TRANSFERS,
        ),
        (
            "T2",
            "percent of a UDP stream lost, PAUSE off",
            listed(list(rate_switch.TABLE_2.values())),
            listed([100 * each.loss_share for each in udp[False][1:]]),
            f"{RATES}; with no buffer: those that fit each row are {rate_switch.fits()}",
        ),
        (
            "T2",
            "percent lost, PAUSE on",
            "0, 0, 0",
            listed([100 * each.loss_share for each in udp[True][1:]], 0),
            RATES,
        ),
        (
            "T2",
            "its times, T = 0, 1, 10, 20 ms, PAUSE off, s",
            seconds[0],
            listed([each.seconds for each in udp[False]]),
            f"{RATES}; a steady stream does not wait, and 0.1 s without an order is what theirs vary by",
        ),
        (
            "T2",
            "its times, T = 0, 1, 10, 20 ms, PAUSE on, s",
            seconds[1],
            listed([each.seconds for each in udp[True]]),
            RATES,
        ),
    ]


def rows() -> list[Row]:
    """Return the rows of Blanquicet, Christensen 2007."""
    arrived = [lost_bytes(1e12, rate, 1e-3, 0.0) for rate in (1e9, 1e10)]
    chances = [100 * loss_probability(10e6, rate, 10e-3, 0.0, 1.0) for rate in (2e9, 4e9, 6e9)]
    percent = [100 * lost_bytes(10e6, rate, 10e-3, 1e6) / 10e6 for rate in (2e9, 4e9, 6e9)]
    waits = [rate_switch.voice(t) for t in OUTAGES]
    away = [
        seconds
        for model in MODELS
        for key, seconds in platforms.load(model).toggle_seconds.items()
        if str(key) != "on_off"
    ]
    later = [1e3 * rate_switch.web(t)[1] for t in OUTAGES]
    kept = [column("measuring.md", "## A link that is silent", f"{t} ms", slice(1, 4)) for t in (1, 10, 20)]
    return [
        (
            "Sect. I",
            "watts of a link at 1 Gb/s more than at 100 Mb/s",
            "2 to 4",
            f"{listed(watts_of_a_link(), 1)} (5324, 6224, 6248, SF-420G; both ends)",
            f"{HERE}; theirs is another work's, of older equipment",
        ),
        (
            "Sect. I",
            "saved in the US in a year, if links matched their speed",
            "$480 million",
            NOT_RUN,
            "none: another work's estimate, of a number of links that is not given",
        ),
        (
            "F1",
            "a drawing: handshake, then resynchronization",
            "no number",
            "no speed changes under traffic: paths move away first, and a forecast says what it would lose in place",
            "`tagloom predict BUILD --settings F`, `tagloom rollout A B -o DIR`",
        ),
        (
            "Sect. II",
            "arrives in 1 ms at 1 and 10 Gb/s",
            "122 KB, 1.2 MB",
            f"{arrived[0] / 1024:.1f} KiB, {arrived[1] / 1024**2:.2f} MiB",
            HERE,
        ),
        (
            "eq. 1",
            "bits lost",
            "L = R min(B/R, T) - S if that is below S: its two conditions are swapped",
            "max(0, min(B, R T) - S), by whole packets",
            f"{RATES}; B, R, S and T are its options",
        ),
        (
            "F2",
            "percent of a burst lost by buffer, T = 10 ms, B = 10 MB, R = 2, 4, 6 Gb/s",
            "three curves without numbers: larger buffers lose less",
            f"S = 1 MB: {listed(percent, 0)}",
            f"{RATES}; six buffers",
        ),
        (
            "question 1",
            "how likely a burst loses anything",
            "future work",
            f"{listed(chances)} % without a buffer, the same bursts, one interruption a second",
            f"{RATES}, with its options for any other",
        ),
        (
            "question 2, 3",
            "effect on higher layers; how to prevent loss",
            "Tables I and II; PAUSE",
            "the same; nothing is lost if paths are moved away first",
            f"{TRANSFERS}; `tagloom apply`",
        ),
        (
            "Sect. III.A",
            "longest PAUSE at 1 Gb/s: 65535 quanta of 512 bit times, ms",
            "33.6",
            f"{1e3 * longest_pause_seconds(1e9):.1f}",
            HERE,
        ),
        (
            "Sect. III.A",
            "time of a resynchronization at 1 Gb/s",
            "unknown; 1 to 20 ms expected",
            f"{min(away):.1f} to {max(away):.1f} s at least, on four switches that change a port's speed",
            f"{RATES}: Koibuchi et al. 2011, table 6; an input, not measured here",
        ),
        (
            "F3",
            "client, server and switch on a bench; 500 MB, one interruption a second of 0, 1, 10, 20 ms",
            "the experiment",
            (
                "the same between two hosts, or through a bridge in namespaces: UDP lost "
                f"{', '.join(cells[2] for cells in kept)}"
            ),
            f"{MEASURE}, [measured](../benchmarks/results/measuring.md); between hosts the client sends PAUSE frames",
        ),
        *tables(),
        (
            "Sect. III.B",
            "five repetitions of each setting, PAUSE of the server off and on",
            "means",
            f"means of {rps_transfers.REPETITIONS}, whose interruptions come at random moments",
            f"{TRANSFERS}; measured: `tagloom measure rps --namespaces --repetitions 5`",
        ),
        (
            "Sect. III.D",
            "web surfing and voice (Skype)",
            "two people noticed no difference",
            (
                f"voice: {listed([100 * share for share, _ in waits])} % of packets wait, up to "
                f"{listed([1e3 * longest for _, longest in waits], 0)} ms; a page of 300 KB comes up to "
                f"{listed(later, 0)} ms later"
            ),
            f"{RATES}; computed: what people notice was not tried",
        ),
    ]
