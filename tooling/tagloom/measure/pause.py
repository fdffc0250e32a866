"""Build IEEE 802.3x PAUSE frames, and send them from a raw socket."""

from __future__ import annotations

import socket
from pathlib import Path

from tagloom.errors import DeviceError, Finding, InputError

# IEEE Std 802.3-2022 annex 31B: to 01-80-C2-00-00-01, type 88-08, opcode 00-01, time in quanta of 512 bit times.
DESTINATION, MAC_CONTROL, PAUSE = bytes.fromhex("0180c2000001"), bytes.fromhex("8808"), bytes.fromhex("0001")
QUANTUM_BITS, MOST_QUANTA, LEAST_FRAME = 512, 65535, 60


def pause_frame(source: bytes, seconds: float, rate_bps: float) -> bytes:
    """Return the frame, without check sequence, that stops a port of this rate from sending for `seconds`.

    Raises InputError if one frame cannot: at 1 Gb/s the longest pause is 33.6 ms.

    >>> frame = pause_frame(bytes(6), 0.01, 1e9)
    >>> len(frame), int.from_bytes(frame[16:18], "big")
    (60, 19531)
    """
    quanta = round(seconds * rate_bps / QUANTUM_BITS)
    if not 0 < quanta <= MOST_QUANTA:
        most = MOST_QUANTA * QUANTUM_BITS / rate_bps
        raise InputError([Finding("--block", f"at most {most:.4g} s at {rate_bps:g} b/s", f"{seconds:g} s")])
    return (DESTINATION + source + MAC_CONTROL + PAUSE + quanta.to_bytes(2, "big")).ljust(LEAST_FRAME, b"\0")


class Pauser:
    """A raw socket on an interface (needs root). Raises DeviceError if it cannot be opened.

    PAUSE stops the switch port at the other end of the cable from sending to this host. Frames for this host then wait
    in that switch. So use it on the host that receives a file, and only if no other host shares its port.
    """

    def __init__(self, interface: str) -> None:
        self._interface = interface
        folder = Path("/sys/class/net") / interface
        try:
            self._mac = bytes.fromhex((folder / "address").read_text("utf-8").strip().replace(":", ""))
            self._rate_bps = int((folder / "speed").read_text("utf-8")) * 1e6
            self._wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            self._wire.bind((interface, 0))
        except (OSError, ValueError) as error:
            raise DeviceError(interface, "PAUSE", str(error)) from None

    def __call__(self, seconds: float) -> None:
        """Stop the port at the other end for `seconds`."""
        self._wire.send(pause_frame(self._mac, seconds, self._rate_bps))

    def close(self) -> None:
        """Close the socket."""
        self._wire.close()
