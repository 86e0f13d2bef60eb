"""Hand-made results with known medians: test data for the report and the comparison."""

import copy
import dataclasses
import pathlib
import sys

LAB = pathlib.Path(__file__).resolve().parents[3] / "lab"
sys.path.insert(0, str(LAB))

from harness import findings, plots, results  # noqa: E402

LOAD = "-c100 -m10"
CPU_US = {  # medians: 7.4, 10.4, 7.5 (overlaps ours), 2.0
    "h2server": [7.4, 7.2, 7.5, 7.3, 7.6],
    "nginx": [10.4, 10.1, 10.9, 10.2, 10.5],
    "nghttpd": [7.5, 7.3, 7.8, 7.4, 7.6],
    "floor": [2.0, 2.1, 1.9, 2.0, 2.0],
}
P99_MS = {50_000: 1.0, 80_000: 2.0, 100_000: 4.0, 120_000: 60.0}
HISTOGRAM = [[100, 900], [200, 90], [400, 9], [1600, 1]]


def run(factors, number, **measures):
    cell = " ".join(f"{name}={value}" for name, value in factors.items())
    command = f"h2load {LOAD} http://127.0.0.1:8080/"
    return results.Run(cell, factors, number, command, 10_000, measures)


def peers():
    """Four servers, five rounds; nghttpd's client at its limit; one skip, one failed run."""
    runs = []
    for server, costs in CPU_US.items():
        factors = {"server": server, "protocol": "h2c", "load": LOAD, "threads": 1}
        for number, cost in enumerate(costs):
            runs.append(run(factors, number, cpu_us=cost, rps=1e6 / cost, p99_ms=cost / 2,
                            client_cpu=0.99 if server == "nghttpd" else 0.5))
    return results.Experiment(
        "peers", "lab/run peers --rounds 5", 22, runs,
        skipped=[{"what": "caddy", "factors": {**factors, "server": "caddy"}, "why": "not installed"}],
        failed=[{"what": "h2o, round 1", "factors": {**factors, "server": "h2o"},
                 "why": 'exit status 1: "<broken> & gone"'}])


def rates():
    """One server at four offered rates, with the knee at 120 000; one cell without any measure."""
    runs = [run({"server": "h2server", "rate": rate}, number, p99_ms=p99 * (1 + number / 10),
                rps=rate * 0.99)
            for rate, p99 in P99_MS.items() for number in range(3)]
    runs.append(run({"server": "nginx", "rate": 50_000}, 0))
    runs.append(run({"server": "nginx", "rate": 80_000}, 0, p99_ms=float("nan")))
    return results.Experiment("rates", "lab/run rates", len(runs), runs)


def hostile():
    """Names with characters that need escaping."""
    runs = [run({"server": '<b>&"x', "size": size, "$m^{a}$": "$x"}, number, cpu_us=5.0 + number)
            for size in (21, 1000) for number in range(2)]
    return results.Experiment("sizes <&>", 'lab/run "sizes <&>"', 30, runs)


def whole():
    """Results of all three experiments, interrupted."""
    made = results.Results(
        "quick", "2026-01-02T03:04:05", "2026-01-02T03:10:05", True, "lab/run --quick", 42,
        {"kernel": "6.1 <test>", "governor": "performance"},
        [{"name": "nginx", "version": "nginx/1.22.1", "path": "/usr/sbin/nginx",
          "sha256": "0123456789abcdef" * 4, "flags": "-O2"}],
        [peers(), rates(), hostile()])
    cell = made.experiments[0].runs[0].cell
    made.histograms = {"peers": {cell: copy.deepcopy(HISTOGRAM)}}
    return made


@dataclasses.dataclass
class Definition:
    """Stands in for a definition of lab/harness/experiments, as far as a report uses it."""

    title: str
    question: str
    figures: list
    findings: object


def definitions():
    def of_peers(experiment):
        found = findings.compare_cells(
            experiment, "cpu_us", {"server": "h2server"}, {"server": "nginx"}, "h2c, one thread",
            "Latency.")
        return [found]

    return {
        "peers": Definition(
            "Against its peers", "Which server needs the least?",
            [plots.Table("Everything", "server", ["cpu_us", "rps", "p99_ms", "rss_kib"],
                         seed="article/scaling"),
             plots.Bars("CPU", "cpu_us", "protocol"),
             plots.Percentiles("Latency", where={"server": ["h2server", "nginx"]})],
            of_peers),
        "rates": Definition(
            "Latency against load", "Where is the knee?",
            [plots.Lines("p99", "rate", "p99_ms", log_y=True, seed="zy-http/rates"),
             plots.Statements("What the paper found", "paper")], lambda _: []),
        "sizes <&>": Definition(
            'Sizes <script>"&', "Is <this> escaped?",
            [plots.HeatMap("CPU <&>", "size", "server", "cpu_us"),
             plots.Lines("CPU <&> $x$", "size", "cpu_us", log_x=True)], lambda _: []),
    }
