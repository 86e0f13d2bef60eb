"""The report's first half page: three charts, and which of the answers stand beside them."""

from harness.plots import Bars

_SMALL = "-c100 -m10"
_SERVERS = ["h2server", "nginx", "nghttpd", "h2o", "floor"]
# [(experiment, figure)]
CHARTS = (
    ("peers", Bars("A request for a small file", "cpu_us", "protocol", "server",
                   {"threads": 1, "load": [_SMALL, "-c100"], "protocol": ["h1", "h2c", "h2"],
                    "server": _SERVERS}, label="processor time, µs")),
    ("bodies", Bars("A megabyte of a large file", "cpu_us", "protocol", "server",
                    {"bytes": 1_000_000}, label="processor time, µs")),
    ("engines", Bars("A request by scheme", "cpu_us", "load", ("server", "scheme"),
                     {"load": ["h1 -c100", f"h2c {_SMALL}"], "engine": ["io_uring", "blocking"]},
                     label="processor time, µs")),
)
_SENTENCES = ("peers", "bodies", "engines", "idle")  # the first answer from each


def sentences(answers, score):
    """Returns up to five Answers: of _SENTENCES, and how often h2server is better and worse."""
    first = {}
    for answer in answers:
        first.setdefault(answer.experiment, answer)
    chosen = [first.get(name) for name in _SENTENCES]
    return [answer for answer in [*chosen, score] if answer]
