"""The seeds' tables are complete and in the lab's units."""

import pytest

import canned  # noqa: F401  puts lab/ on the path
from harness import seeds


def only(name, **factors):
    rows = [row for row in seeds.TABLES[name].rows
            if all(row.factors.get(key) == value for key, value in factors.items())]
    assert len(rows) == 1
    return rows[0]


def test_no_two_rows_of_a_table_have_the_same_factors():
    for name, table in seeds.TABLES.items():
        keys = [tuple(sorted(row.factors.items())) for row in table.rows]
        assert len(keys) == len(set(keys)), name


def test_values_come_in_our_units():
    row = only("article/stages", stage="prototype", load="-c100 -m10")
    assert row.measures["rps"] == 122060.232
    assert row.measures["p99_ms"] == 10.674
    assert row.measures["server_cpu"] == 0.98412
    assert row.measures["rss_kib"] == 7630  # 7.451171875 MiB is exactly 7630 KiB
    assert row.measures["cpu_us"] == pytest.approx(8.0626, abs=1e-4)


def test_known_values_of_each_source():
    scheme = only("article/schemes", scheme="acceptor", protocol="h2c", load="-c1000 -m100",
                  threads=4)
    assert scheme.measures["rps"] == 451179
    libevent = only("article/peers", server="libevent-server", load="-c100 -m10")
    assert libevent.measures["p50_ms"] == 5.5
    assert only("article/scaling", server="nghttpd", protocol="h2c", load="-c1000 -m100",
                threads=8).measures["p99_ms"] == 264.8662
    short = only("zy-http/concurrency", server="nginx", target="1 KB", concurrency=5000)
    assert short.measures == {"rps": 52108, "mean_ms": 93.1, "p99_ms": 382.1}
    assert only("zy-http/rates", rate=40000).measures["rps"] == 36051


def test_the_row_that_cannot_be_right_is_flagged_and_no_other():
    flagged = [row for table in seeds.TABLES.values() for row in table.rows if row.flag]
    assert [(row.factors["stage"], row.factors["protocol"], row.factors["load"])
            for row in flagged] == [("router", "h2c", "-c100 -m10")]
    copied = only("article/stages", stage="mmap", protocol="h2", load="-c100 -m10")
    assert flagged[0].measures["p99_ms"] * 1000 == pytest.approx(copied.measures["p99_ms"])
    assert flagged[0].measures["server_cpu"] == copied.measures["server_cpu"]
    assert flagged[0].measures["rss_kib"] * 1024 == pytest.approx(copied.measures["rss_kib"])


def test_a_row_is_found_by_all_of_its_factors():
    factors = {"server": "h2server", "scheme": "acceptor", "protocol": "h2", "load": "-c100 -m10",
               "threads": 2, "engine": "epoll"}
    assert seeds.row_of("article/schemes", factors).measures["rps"] == 195737.5
    assert seeds.row_of("article/schemes", {**factors, "threads": 3}) is None
    assert seeds.row_of("article/schemes", {**factors, "server": "nginx"}) is None
    del factors["scheme"]
    assert seeds.row_of("article/schemes", factors) is None
