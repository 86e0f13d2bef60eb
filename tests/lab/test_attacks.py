"""lab/attacks: hostile clients send what its tables say, and docs/security.md has its results."""

import dataclasses
import json
import os
import pathlib

import pytest

import canned  # noqa: F401  (finds the lab)
from harness import attackers, attacks, frames, machine, pages, processes, servers
from harness.procedures import Subject, setting_of

BUILD = pathlib.Path(os.environ.get("H2SERVER_BUILD_DIR", canned.LAB.parent / "build/release"))
BY_NAME = {attack.name: attack for attack in attackers.ATTACKS}


@pytest.mark.parametrize("value, bits, octets", [  # RFC 7541, C.1
    (10, 5, "0a"), (1337, 5, "1f9a0a"), (42, 8, "2a"), (126, 7, "7e"), (127, 7, "7f00")])
def test_integers(value, bits, octets):
    assert frames.integer(value, bits).hex() == octets


def frames_of(octets):
    """Yields (kind, flags, stream, payload)."""
    assert octets.startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    at = 24
    while at < len(octets):
        length = int.from_bytes(octets[at:at + 3], "big")
        payload = octets[at + 9:at + 9 + length]
        assert len(payload) == length <= 16384
        yield octets[at + 3], octets[at + 4], int.from_bytes(octets[at + 5:at + 9], "big"), payload
        at += 9 + length


@pytest.mark.parametrize("name", [name for name in BY_NAME if BY_NAME[name].protocol == "h2"])
def test_frames_are_whole_and_streams_in_order(name):
    sent = list(frames_of(BY_NAME[name].sends(False, "/files/")))
    assert sent[0][0] == 4
    opened = [stream for kind, flags, stream, _ in sent if kind == 1]
    assert opened == sorted(opened) and all(stream % 2 == 1 for stream in opened)
    expected = {"continuation": 1, "resets": 20_000, "copies": 2000, "pings": 0}.get(name, 100)
    assert len(set(opened)) == expected


def test_a_bomb_sends_its_field_once():
    octets = BY_NAME["bomb"].sends(False, "")
    assert octets.count(b"z" * 3900) == 1 and octets.count(b"\xbe" * 7) == 99
    assert len(octets) < 10_000


def test_a_first_flight_is_one():
    octets = BY_NAME["handshakes"].sends(True, "")
    assert octets[0] == 22 and octets[5] == 1  # RFC 8446, 5.1 and 4: handshake, client_hello
    assert len(octets) == 5 + int.from_bytes(octets[3:5], "big")


RUN = {"held_kib": 3000, "left_kib": 1024, "probes": 5, "failed": 0, "worst_ms": 12.3}


@pytest.mark.parametrize("runs, text", [
    ([], "–"),
    ([RUN], "3 MiB, 12.3 ms"),
    ([RUN, RUN | {"held_kib": 9000, "worst_ms": 7}], "9 MiB, 12.3 ms"),
    ([RUN | {"held_kib": 100}], "< 1 MiB, 12.3 ms"),
    ([RUN, RUN | {"failed": 1}], "3 MiB, 5 000 ms (lost)"),
    ([RUN, RUN | {"probes": 0, "failed": 1}], "3 MiB, **no answer**"),
    ([RUN, {"ended": "killed"}], "**ended**"),
])
def test_cells(runs, text):
    assert attacks.shown(runs) == text


@pytest.mark.parametrize("runs, text", [
    ([RUN, RUN | {"left_kib": 2048}], "3 MiB (2), 12.3 ms"),
    ([RUN | {"held_kib": 100}], "< 1 MiB, 12.3 ms"),
    ([RUN, {"ended": "killed"}], "**ended**"),
])
def test_cells_with_what_is_left(runs, text):
    assert attacks.shown(runs, left=True) == text


def test_a_table_has_a_row_for_each_attack():
    results = {"runs": [RUN | {"server": "h2server", "attack": "bomb"}]}
    lines = attacks.tables(results)["peers"]
    assert len(lines) == 2 + len(attackers.ATTACKS)
    assert lines[2].endswith("| 3 MiB (1), 12.3 ms | – | – | – |")


def test_page_is_that_of_the_results():
    page, results = attacks.PAGE.read_text(), json.loads(attacks.RESULTS.read_text())
    assert pages.rewritten(page, "lab/attacks", attacks.tables(results)) == page, \
        "lab/attacks --page writes it again"


def test_results_are_of_every_attack_on_every_server():
    runs = json.loads(attacks.RESULTS.read_text())["runs"]
    found = [(run["server"], run["attack"], run["tls"]) for run in runs]
    assert sorted(found) == sorted(
        (name, attack.name, tls) for name in (*attacks.OURS, *attacks.PEERS)
        for attack in attackers.ATTACKS for tls in attacks.transports_of(name, attack))


def test_a_measure_takes_the_place_of_an_earlier_one():
    one = RUN | {"server": "nginx", "attack": "bomb", "tls": False}
    results = {"versions": {}, "runs": [one, one | {"tls": True}]}
    again = attacks.merged(results, one | {"held_kib": 1})
    assert [(run["tls"], run["held_kib"]) for run in again["runs"]] == [(True, 3000), (False, 1)]


@dataclasses.dataclass
class Place:
    root: pathlib.Path
    certificate: None = None
    key: None = None


@pytest.mark.parametrize("name", ["bomb", "begun"])
def test_an_attack_on_a_server(tmp_path, monkeypatch, name):
    # A slow machine is no failure: only the server's patience ends what waits here.
    monkeypatch.setattr(attacks, "PROBE_S_MAX", 60)
    monkeypatch.setattr(attacks, "STAY_S", 1)
    monkeypatch.setattr(attacks, "RECOVER_S_MAX", 0)
    monkeypatch.setattr(attackers, "PAUSE_S_MAX", 60)
    monkeypatch.setattr(attackers, "SEND_S_MAX", 60)
    attack = dataclasses.replace(BY_NAME[name], connections=8)
    root, work = tmp_path / "root", tmp_path / "work"
    for folder in (root, work, tmp_path / "up"):
        folder.mkdir()
    (root / "small.txt").write_text("small")
    with (root / "large.bin").open("wb") as file:
        file.truncate(60_000_000)
    server = servers.ours(BUILD)
    subject = Subject(server, attack.protocol, False, 1, "/small.txt", ("--upload-dir", tmp_path / "up"))
    port = processes.free_port()
    with server.run(setting_of(Place(root), subject, work, port), machine.default_cpus()[0]) as pid:
        found = attacks.attacked(attack, pid, port, False, "/files/")
    assert found["connections"] == 8
    assert found["failed"] == 0 and found["probes"] > 0
    assert found["sent_bytes"] == 8 * len(attack.sends(False, "/files/"))
    assert found["held_kib"] > 200
