"""The benchmark's figures against values computed by hand."""

import pytest

import metrics

# Confidence and outcome of five statements.
PAIRS = [(0.9, 1), (0.9, 0), (0.6, 1), (0.3, 0), (0.2, 0)]


def test_brier_score():
    # 0.01 + 0.81 + 0.16 + 0.09 + 0.04 = 1.11
    assert metrics.brier(PAIRS) == pytest.approx(1.11 / 5)


def test_brier_skill_is_relative_to_the_base_rate():
    # Base rate 0.4: a constant has 0.4 × 0.6 = 0.24.
    assert metrics.brier_skill(PAIRS) == pytest.approx(1 - 0.222 / 0.24)
    assert metrics.brier_skill([(0.4, r) for _, r in PAIRS]) == pytest.approx(0)
    assert metrics.brier_skill([(1.0, 1), (0.0, 0)]) == 1
    assert metrics.brier_skill([(0.8, 1), (0.7, 1)]) is None


def test_bins_hold_equally_many():
    bins = metrics.equal_mass_bins(PAIRS, 2)
    assert [size for size, _, _ in bins] == [2, 3]
    assert bins[0][1:] == pytest.approx((0.25, 0))
    assert bins[1][1:] == pytest.approx((0.8, 2 / 3))


def test_calibration_error():
    # 2/5 × |0.25 − 0| + 3/5 × |0.8 − 2/3|
    assert metrics.expected_calibration_error(PAIRS, 2) == pytest.approx(0.1 + 0.08)


def test_calibration_error_of_one_bin_is_the_bias():
    assert metrics.expected_calibration_error(PAIRS, 1) == pytest.approx(2.9 / 5 - 2 / 5)


def test_order_among_equal_confidences_says_nothing():
    pairs = [(0.5, 1), (0.5, 0), (0.5, 1), (0.5, 0)]
    assert metrics.expected_calibration_error(pairs, 2) == pytest.approx(0)
    assert metrics.expected_calibration_error(sorted(pairs), 2) == metrics.expected_calibration_error(pairs[::-1], 2)


def test_more_bins_than_statements():
    # Each alone but the two of 0.9, which share 1/2: 0.2, 0.3, 0.4, 0.4, 0.4.
    assert metrics.expected_calibration_error(PAIRS, 10) == pytest.approx(1.7 / 5)


def test_quantile_is_linear():
    assert metrics.quantile([4, 1, 3, 2], 0.5) == 2.5
    assert metrics.quantile([1, 2], 0.9) == pytest.approx(1.9)
    assert metrics.quantile([7], 0.9) == 7


def test_interval_of_a_share():
    assert metrics.wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert metrics.wilson(0, 0) == (0, 1)


def test_bootstrap_draws_whole_windows():
    clusters = [[(0.9, 1)]] * 50 + [[(0.9, 0), (0.9, 0)]] * 25
    draw = metrics.bootstrap
    ((low, high),) = draw(clusters, [metrics.brier], rounds=200)
    assert low < metrics.brier([p for c in clusters for p in c]) < high
    # Windows that are all alike leave nothing to chance; where a figure is never known there is no interval.
    alike = [[(0.5, 1), (0.5, 0)]] * 9
    assert draw(alike, [metrics.brier, lambda _: None], rounds=20) == [pytest.approx((0.25, 0.25)), None]
    assert draw(clusters, [metrics.brier], rounds=50) == draw(clusters, [metrics.brier], rounds=50)


def test_calibration_leaves_silent_windows_out():
    c = metrics.calibration([[], PAIRS[:2], PAIRS[2:]], count=2, rounds=10)
    assert (c["windows"], c["statements"], c["base_rate"]) == (2, 5, 0.4)
    assert c["brier"] == pytest.approx(0.222) and c["ece"] == pytest.approx(0.18)
    assert metrics.calibration([[], []]) is None


def test_summary_of_errors():
    assert metrics.summary([]) is None
    assert metrics.summary([0.1, 0.2, 0.6]) == {"count": 3, "median": 0.2, "p90": pytest.approx(0.52)}
