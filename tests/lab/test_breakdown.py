"""The parts of a server's processor time, from canned output of perf."""

import pathlib

import pytest

import canned  # noqa: F401  puts lab/ on the path
from harness import breakdown
from harness.processes import Failure

REPORT = pathlib.Path(__file__).with_name("canned") / "perf_report.txt"


def test_parts_of_a_report():
    shares = breakdown.shares_of(REPORT.read_text())
    assert shares == pytest.approx({
        "kernel": 0.4, "parse": 0.05, "hpack": 0.06, "route": 0.09, "respond": 0.08,
        "engine": 0.105, "other": 0.215,
    })


def test_the_parts_add_up_to_the_whole():
    measures = breakdown.measures_of(REPORT.read_text(), 1.68)
    assert tuple(measures) == breakdown.MEASURES
    assert sum(measures.values()) == pytest.approx(1.68, rel=0.01)
    assert measures["kernel_us"] == pytest.approx(0.672)


@pytest.mark.parametrize(("library", "function", "part"), [
    ("[kernel.kallsyms]", "h2server::io::not_ours", "kernel"),
    ("[tls]", "tls_sw_sendmsg", "kernel"),
    ("floor", "h2server::lab::floor::Connection::fill", "respond"),
    ("h2server", "h2server::http::h2::hpack::Encoder::encode", "hpack"),
    ("h2server", "h2server::http::h2::Connection::respond", "respond"),
    ("h2server", "h2server::http::h2::Connection::run", "engine"),
    ("h2server", "h2server::http::h2::Connection::admit", "other"),
    ("h2server", "h2server::http::h1::(anonymous namespace)::Parser::parse", "parse"),
    ("libcrypto.so.3", "aesni_gcm_encrypt", "other"),
])
def test_part_of_a_function(library, function, part):
    assert breakdown.part_of(library, function) == part


@pytest.mark.parametrize("report", [
    "", "# nothing\n", " 5 |h2server|[.] h2server::http::Router::find\n",
])
def test_a_report_without_the_kernel_is_none(report):
    with pytest.raises(Failure):
        breakdown.shares_of(report)
