"""The report that the server prints on standard error on SIGUSR1."""

import re
import signal

from support.waiting import wait_until


def lines(server, *needed):
    """Requests the counters. Returns the new lines once they match every expression."""
    before = len(server.stderr)
    server.signal(signal.SIGUSR1)

    def printed():
        text = server.stderr[before:]
        return text.endswith("\n") and all(re.search(one, text) for one in needed)

    wait_until(lambda: printed() or not server.running, f"the counters: {needed}")
    assert printed(), "the signal has ended the server"
    return server.stderr[before:].splitlines()


def worker_lines(server, workers):
    """Returns the workers' lines, sorted."""
    printed = lines(server, *(rf"worker {number}: " for number in range(1, workers + 1)))
    return sorted(line for line in printed if re.search(r"worker \d+: ", line))


def count(line, what):
    """Returns the number before a word: `connection` finds 12 in "12 connections"."""
    found = re.search(rf"(\d+) {what}", line)
    assert found, f"no {what} in: {line}"
    return int(found[1])


def line_of(server, name):
    [line] = [line for line in lines(server, name) if re.search(name, line)]
    return line
