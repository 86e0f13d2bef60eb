"""Waits for conditions instead of fixed times."""

import time

from support.environment import LAST_RESORT_S

_POLL_S = 0.005


def holds_within(condition, seconds):
    """Returns true if `condition()` becomes true before the deadline."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_S)
    return True


def wait_until(condition, what, seconds=LAST_RESORT_S):
    """Returns as soon as `condition()` is true. Fails if it stays false: the bound is a last
    resort, which a slow machine does not reach. `seconds`: for what may take longer than that."""
    assert holds_within(condition, seconds), f"waited {seconds} s in vain: {what}"
