"""The progress line: what is being measured, and the remaining time."""

import sys
import time


def duration(seconds):
    """Formats a duration: 45 s, 3 min 20 s, 1 h 05 min."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


class Progress:
    """Reports progress: rewrites one line on a terminal, else prints one line a minute."""

    def __init__(self, total, output=sys.stderr, clock=time.monotonic):
        self._total = total
        self._output = output
        self._clock = clock
        self._done = 0
        self._started = clock()
        self._said = float("-inf")
        self._failed = 0
        self._what = ""

    def line(self, experiment, cell):
        """Returns the text shown before a run."""
        elapsed = self._clock() - self._started
        left = elapsed / self._done * (self._total - self._done) if self._done else None
        remaining = "" if left is None else f", {duration(left)} left"
        failed = f", {self._failed} failed" if self._failed else ""
        return f"{self._done + 1}/{self._total}{remaining}{failed} · {experiment}: {cell}"

    def before(self, experiment, cell):
        self._what = f"{experiment}: {cell}"
        line = self.line(experiment, cell)
        if self._output.isatty():
            self._output.write(f"\r\x1b[K{line[:120]}")
        elif self._clock() - self._said >= 60:
            self._said = self._clock()
            self._output.write(f"{line}\n")
        self._output.flush()

    def after(self, failure):
        """Called when a run has ended. `failure` is why it does not count, or None."""
        self._done += 1
        if failure is None:
            return
        self._failed += 1
        if self._output.isatty():
            self._output.write("\r\x1b[K")
        self._output.write(f"FAILED {self._what}: {failure}\n")

    def end(self):
        if self._output.isatty():
            self._output.write("\r\x1b[K")
        took = duration(self._clock() - self._started)
        self._output.write(f"{self._done} of {self._total} runs in {took}\n")
        self._output.flush()
