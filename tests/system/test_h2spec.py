"""Conformance to RFC 9113 and RFC 7541: h2spec, with its strict cases."""

import subprocess
import xml.etree.ElementTree

import pytest

from support import pairs
from support.environment import LAST_RESORT_S, tool
from support.protocols import PROTOCOLS, name_of
from support.server import Server

# Cases that are expected to fail: "package: description" → the reason.
KNOWN = {}
CASES_MIN = {False: 140, True: 145}  # number of cases, without and with the strict ones


def run_h2spec(server, report, *arguments):
    command = [tool("h2spec"), "--host", "127.0.0.1", "--port", str(server.port),
               "--timeout", str(LAST_RESORT_S), "--junit-report", report, *arguments]
    if server.tls:
        command += ["--tls", "--insecure"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10 * LAST_RESORT_S,
                          check=False)
    assert report.exists(), done.stdout + done.stderr
    assert " 0 skipped" in done.stdout, done.stdout
    return xml.etree.ElementTree.parse(report).getroot()


def outcomes(report):
    """Returns the names of all cases, and {name: message} of those that failed."""
    names, failed = [], {}
    for case in report.iter("testcase"):
        name = f"{case.get('package')}: {case.get('classname')}"
        names.append(name)
        problem = case.find("failure")
        if problem is None:
            problem = case.find("error")
        if problem is not None:
            failed[name] = "".join(problem.itertext())
    return names, failed


@pytest.mark.parametrize("strict", [False, True], ids=["usual", "strict"])
@pytest.mark.parametrize("pair", pairs.USUAL, ids=name_of)
@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_conformance(protocol, pair, strict, tmp_path):
    with Server(pair=pair, tls=protocol.tls) as server:
        (server.root / "index.html").write_bytes(b"a" * 100_000)  # some cases want a large one
        report = run_h2spec(server, tmp_path / "report.xml", *(["--strict"] if strict else []))
    names, failed = outcomes(report)
    assert len(names) >= CASES_MIN[strict]
    unexpected = {name: text for name, text in failed.items() if name not in KNOWN}
    assert unexpected == {}
