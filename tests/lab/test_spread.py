"""Statistics, on data with known answers."""

import math

import pytest

import canned  # noqa: F401  puts lab/ on the path
from harness import spread

NAN = float("nan")


def test_spread_of_rounds():
    found = spread.spread([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (found.median, found.low, found.high) == (3.0, 1.0, 5.0)
    assert found.rounds == 5


def test_an_even_number_of_rounds_and_a_single_one():
    assert spread.spread([1, 2, 3, 10]).median == 2.5
    alone = spread.spread([7])
    assert (alone.median, alone.low, alone.high, alone.rounds) == (7, 7, 7, 1)


def test_what_was_not_measured_is_left_out():
    assert spread.spread([None, NAN, math.inf, 2.0]).rounds == 1
    assert spread.spread([]) is None
    assert spread.spread([None, NAN]) is None


def test_ratio_and_its_interval():
    found = spread.ratio([2.0, 1.0, 3.0], [4.0, 8.0, 5.0])
    assert (found.value, found.low, found.high) == (2 / 5, 1 / 8, 3 / 4)
    assert found.differs


@pytest.mark.parametrize(("ours", "theirs", "differs"), [
    ([1, 2, 3], [4, 5, 6], True),
    ([4, 5, 6], [1, 2, 3], True),
    ([1, 2, 3], [3, 4, 5], False),  # they touch
    ([1, 5, 9], [4, 5, 6], False),  # one contains the other
    ([1, 2], [5, 6], False),  # too few to tell
    ([1], [9], False),
])
def test_cells_differ_only_if_their_ranges_do_not_overlap(ours, theirs, differs):
    assert spread.ratio(ours, theirs).differs is differs


def test_no_ratio_without_both_sides():
    assert spread.ratio([], [1.0]) is None
    assert spread.ratio([1.0], [NAN]) is None
    assert spread.ratio([1.0], [0.0, 1.0]) is None


def test_how_often_equal_cells_would_differ():
    assert spread.by_chance(5, 5) == pytest.approx(1 / 126)
    assert spread.by_chance(3, 3) == pytest.approx(1 / 10)
    assert spread.by_chance(1, 1) == 1.0


def test_histograms_are_merged_by_bucket():
    assert spread.merge([[[100, 1], [300, 2]], [[200, 5], [100, 4]]]) == [
        [100, 5], [200, 5], [300, 2]]
    assert spread.merge([]) == []


@pytest.mark.parametrize(("percent", "upper_us"), [
    (0, 100), (50, 100), (90, 100), (90.1, 200), (99, 200), (99.9, 400), (100, 1600)])
def test_percentiles_of_a_histogram(percent, upper_us):
    assert spread.percentile(canned.HISTOGRAM, percent) == upper_us


def test_no_percentile_of_no_requests():
    assert spread.percentile([], 50) is None
    assert spread.percentile([[100, 0]], 50) is None


def test_percentile_curve_ends_with_the_slowest():
    assert spread.percentile_curve(canned.HISTOGRAM) == [
        (10, 100), (100, 200), (1000, 400), (1000, 1600)]


def rounds(*values):
    return spread.spread(values)


def test_the_knee_is_where_latency_leaves():
    one = (10, rounds(1.0, 1.5, 2.0), 10)
    assert spread.knee([(30, rounds(21.0), 30), one, (20, rounds(19.0), 20)]) == 30
    assert spread.knee([one, (20, rounds(20.0), None)]) is None  # ten times is not above it
    assert spread.knee([one, (20, rounds(19.0, 50.0, 90.0), 20)]) is None  # not in every round
    # The knee needs every higher rate to be slow as well.
    assert spread.knee([one, (20, rounds(50.0), 20), (30, rounds(3.0), 30)]) is None
    assert spread.knee([one, (20, rounds(50.0), 20), (30, rounds(60.0), 30)]) == 20


def test_the_knee_is_where_the_server_does_not_keep_up():
    one = (10, rounds(1.0), 9.5)
    assert spread.knee([one, (20, rounds(1.1), 18.9), (30, rounds(50.0), 19)]) == 20
    assert spread.knee([one]) is None
    assert spread.knee([]) is None


def curve(**values):
    return {int(x[1:]): rounds(*y) for x, y in values.items()}


def test_sides_of_two_curves():
    flat = curve(x1=[2.0], x2=[2.0, 2.4], x4=[2.0], x5=[2.0])
    one = curve(x1=[1.0, 1.9], x2=[1.0, 2.1], x3=[9.0], x4=[3.0])
    assert spread.sides(one, flat) == [(1, -1), (4, 1)]
    assert spread.crossing(spread.sides(one, flat)) == (1, 4)
    assert spread.crossing([(1, 1), (2, 1), (3, -1), (4, 1)]) == (2, 3)
    assert spread.crossing([(1, 1), (2, 1)]) is None
    assert spread.crossing([]) is None


@pytest.mark.parametrize(("value", "text"), [
    (7.4, "7.40"), (10.44, "10.4"), (99.96, "100"), (192895.77, "192\u202f896"), (0.0123, "0.0123"),
    (9.996, "10.0"), (0.99961, "1.00"), (0, "0"), (0.0, "0"), (0.9, "0.900"), (7, "7"),
    (50_000, "50\u202f000"), (NAN, "–"), (None, "–"), (-12.34, "-12.3")])
def test_numbers_have_three_digits_that_count(value, text):
    assert spread.number(value) == text


def test_a_ratio_in_words():
    assert spread.times(spread.ratio([7.4], [10.4])) == "0.71 × (0.71–0.71)"


@pytest.mark.parametrize(("value", "text"), [
    (0.0787, "0.079"), (0.0995, "0.10"), (0.5, "0.50"), (9.99, "9.99"), (12.34, "12.3"), (0, "0")])
def test_a_ratio_has_no_more_digits_than_it_is_worth(value, text):
    assert spread.share(value) == text


def test_a_thinned_curve_keeps_its_ends_and_its_steps():
    curve = [(1, 100.0), (2, 100.2), (3, 100.4), (4, 100.9), (5, 200.0), (6, 200.1), (7, 200.2)]
    assert spread.thinned(curve, 0.01) == [(1, 100.0), (4, 100.9), (5, 200.0), (7, 200.2)]
    assert spread.thinned([(1, 5.0)], 0.01) == [(1, 5.0)]
