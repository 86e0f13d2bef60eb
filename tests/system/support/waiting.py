"""Waits for conditions instead of fixed times."""

import time

from support.environment import PATIENCE

_POLL_S = 0.005


def holds_within(condition, seconds):
    """Returns true if `condition()` becomes true before the deadline."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_S)
    return True


def wait_until(condition, what, seconds=5):
    """Returns as soon as `condition()` is true. Fails if it is not within `seconds`."""
    assert holds_within(condition, seconds * PATIENCE), f"waited {seconds} s in vain: {what}"
