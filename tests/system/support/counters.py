"""What the server prints on standard error at SIGUSR1."""

import re
import signal

from support.waiting import wait_until


def lines(server, *needed):
    """Asks for the counters; the new lines, once each of the expressions is found in them."""
    before = len(server.stderr)
    server.signal(signal.SIGUSR1)

    def printed():
        text = server.stderr[before:]
        return text.endswith("\n") and all(re.search(one, text) for one in needed)

    wait_until(lambda: printed() or not server.running, f"the counters: {needed}")
    assert printed(), "the signal has ended the server"
    return server.stderr[before:].splitlines()


def worker_lines(server, workers):
    """Those of the workers, in their order."""
    printed = lines(server, *(rf"worker {number}: " for number in range(1, workers + 1)))
    return sorted(line for line in printed if re.search(r"worker \d+: ", line))


def count(line, what):
    """The number before a word: `connection` finds 12 in "12 connections"."""
    found = re.search(rf"(\d+) {what}", line)
    assert found, f"no {what} in: {line}"
    return int(found[1])


def line_of(server, name):
    [line] = [line for line in lines(server, name) if re.search(name, line)]
    return line
