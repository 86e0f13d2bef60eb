"""Findings: one sentence each, with its size, its spread and what it does not show."""

import dataclasses

KINDS = ("win", "loss", "even", "note")


@dataclasses.dataclass(frozen=True)
class Finding:
    """What the measurements say of h2server, good or bad."""

    text: str
    kind: str  # of KINDS: a win or a loss of h2server, no difference beyond the spread, neither
    not_shown: str = ""  # what a reader might conclude, and must not
