"""Backups, as far as they need no rack: what counts as a change."""

import pytest

from tagloom.operate.backup import _differs as differs


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("# 2026-11-28 17:00:00 by RouterOS 7.16\n", "# 2026-11-29 02:00:00 by RouterOS 7.16\n", False),
        ("# nov/28/2026 17:00:00 by RouterOS 6.49.10\n", "# nov/29/2026 02:00:00 by RouterOS 6.49.10\n", False),
        ("# 2026-11-28 17:00:00 by RouterOS 7.16\n", "# 2026-11-29 02:00:00 by RouterOS 7.17\n", True),
        ('!System Up Time "1 days"\n', '!System Up Time "2 days"\n', False),
        ("# moved on 2026-11-28 17:00:00\n", "# moved on 2026-11-29 17:00:00\n", True),
    ],
)
def test_the_time_in_the_head_of_a_configuration_is_no_change(before, after, changed):
    assert differs(f"{after}/interface bridge\n", f"{before}/interface bridge\n") is changed
