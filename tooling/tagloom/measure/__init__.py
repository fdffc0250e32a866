"""Measure hosts and links: ping-pong, power, a link's sleep policy, transfers over a blocked link."""
