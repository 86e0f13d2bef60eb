"""Parsing the load generators' output, including output with errors."""

import pathlib

import pytest

from harness.loads import H2load, Hey, Own, Target, Wrk, buckets_of, coarse, reading_of
from harness.processes import Failure

H2LOAD = """
finished in {time}, 6060.61 req/s, 1.05MB/s
requests: 4 total, 4 started, 4 done, {succeeded} succeeded, {failed} failed, 0 errored, 0 timeout
status codes: {succeeded} 2xx, 0 3xx, 0 4xx, {failed} 5xx
"""
WRK = (
    'JSON {{"requests":10,"us":1000500,"bytes":100,"errors":{errors},"mean_us":20.5,'
    '"histogram":[[10,9],[300,1]]}}'
)
HEY = """response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
0.0010,0.0002,0.0000,0.0000,0.0006,0.0000,200,0.0100
0.0030,0.0002,0.0000,0.0000,0.0006,0.0000,{status},0.0200
"""


@pytest.fixture
def target(tmp_path):
    lines = [f"{1700 + i}\t200\t{us}\n" for i, us in enumerate([150, 50, 90, 110])]
    (tmp_path / "requests.log").write_text("".join(lines))
    return Target(8080, "/index.html", False, "h2", tmp_path)


@pytest.mark.parametrize("time, seconds", [("1.50s", 1.5), ("660us", 0.00066), ("20.10ms", 0.0201)])
def test_h2load(target, time, seconds):
    reading = H2load(2, 2, 4).read(H2LOAD.format(time=time, succeeded=4, failed=0), target)
    assert reading.requests == 4
    assert reading.seconds == pytest.approx(seconds)
    assert reading.mean_us == 100
    assert sum(count for _, count in reading.histogram) == 4


@pytest.mark.parametrize(
    "output", [H2LOAD.format(time="1s", succeeded=3, failed=1), "cannot connect"]
)
def test_h2load_with_errors_does_not_count(target, output):
    with pytest.raises(Failure):
        H2load(2, 2, 4).read(output, target)


def test_h2load_speaks_what_it_is_told(target):
    assert "-m" in H2load(2, 3, 4).command(target)
    h1 = Target(8080, "/", True, "h1", target.work)
    command = H2load(2, 3, 4).command(h1)
    assert "--h1" in command and "-m" not in command
    assert command[-1] == "https://127.0.0.1:8080/"


def test_h2load_asks_for_several_files_in_turn(target):
    load = H2load(2, 3, 4, paths=("/a", "/b"), fields=("accept-encoding: gzip",))
    command = load.command(Target(8080, "/", True, "h2", target.work))
    urls = pathlib.Path(command[command.index("-i") + 1])
    assert urls.read_text().split() == ["https://127.0.0.1:8080/a", "https://127.0.0.1:8080/b"]
    assert "--header=accept-encoding: gzip" in command


def test_wrk(target):
    reading = Wrk(2, 1).read("noise\n" + WRK.format(errors=0), target)
    assert (reading.requests, reading.seconds, reading.mean_us) == (10, 1.0005, 20.5)
    assert reading.histogram == [[10, 9], [303, 1]]  # 300 to 303 are one bucket


@pytest.mark.parametrize("output", [WRK.format(errors=1), "unable to connect"])
def test_wrk_with_errors_does_not_count(target, output):
    with pytest.raises(Failure):
        Wrk(2, 1).read(output, target)


def test_hey(target):
    reading = Hey(2, 2).read(HEY.format(status=200), target)
    assert reading.requests == 2
    assert reading.seconds == pytest.approx(0.023)  # start plus duration of the last one
    assert reading.mean_us == pytest.approx(2000)


@pytest.mark.parametrize(
    "output", [HEY.format(status=500), HEY.format(status=200) + "0,0,0,0,0,0,200,0\n"]
)
def test_hey_with_errors_does_not_count(target, output):
    with pytest.raises(Failure):
        Hey(2, 2).read(output, target)


def test_own_with_errors_does_not_count():
    said = {"requests": 1, "errors": {"status": 1}}
    with pytest.raises(Failure, match="status"):
        reading_of(said)


def test_own_warms_up_with_few(target):
    load = Own("/lab/load", "closed", {"requests": 10, "multipart": True}, {"requests": 1})
    assert load.command(target)[-3:] == ["--requests", "10", "--multipart"]
    assert load.warm_up().command(target)[-3:] == ["--requests", "1", "--multipart"]


@pytest.mark.parametrize("value", [1, 63, 64, 127, 128, 1000, 123_456, 10**9])
def test_a_bucket_is_hardly_wider_than_its_values(value):
    ((upper, count),) = buckets_of([value, value])
    assert count == 2
    assert value <= upper <= value * 1.016


def test_buckets_keep_order_and_counts():
    histogram = coarse([[50, 3], [1000, 2], [1001, 5], [90_000, 1]])
    assert [count for _, count in histogram] == [3, 7, 1]
    assert histogram == sorted(histogram)
    assert coarse([]) == []
