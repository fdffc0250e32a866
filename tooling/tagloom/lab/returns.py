"""Recognise a Return that a client sends as two characters."""

from __future__ import annotations


class Returns:
    r"""The Returns of one session.

    >>> returns = Returns()
    >>> [returns.is_second(key) for key in "a\r\n\n"]
    [False, False, True, False]
    """

    def __init__(self) -> None:
        self._after_carriage_return = False

    def is_second(self, key: str) -> bool:
        """Return whether a key is the line feed of a Return whose carriage return came just before."""
        second, self._after_carriage_return = key == "\n" and self._after_carriage_return, key == "\r"
        return second
