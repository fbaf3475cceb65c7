"""Labels cover neither each other nor a point, and stay within the axes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from skembed.inspection._labels import place_labels


def boxes_of(labels, figure):
    renderer = figure.canvas.get_renderer()
    return [Text.get_window_extent(label, renderer) for label in labels]  # without its line


def plot(points, dpi=100):
    figure, ax = plt.subplots(dpi=dpi)
    ax.scatter(*points.T, s=10)
    ax.margins(0.1)
    return figure, ax


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), dpi=st.sampled_from([50, 100, 220]))
def test_no_label_covers_a_label_or_a_point(seed, n, dpi):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) ** 3  # crowded in the middle
    labels = ["x" * rng.integers(1, 16) for _ in range(n)]
    figure, ax = plot(points, dpi)
    placed = place_labels(ax, points, labels, 8)
    figure.draw_without_rendering()
    boxes, frame = boxes_of(placed, figure), ax.get_window_extent()
    at = ax.transData.transform(points)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.contains(*p) for p in at)
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1
        assert frame.y0 <= box.y0 and box.y1 <= frame.y1
    assert placed, "the first label of a plot finds room"
    plt.close(figure)


def test_the_first_labels_are_placed_and_empty_ones_skipped():
    points = np.zeros((120, 2))
    figure, ax = plot(points)
    placed = place_labels(ax, points, ["", *(f"label {i}" for i in range(119))], 8)
    texts = [label.get_text() for label in placed]
    assert texts == [f"label {i}" for i in range(len(texts))] and 3 < len(texts) < 100
    assert len(ax.texts) == len(placed), "what was measured is gone"
    plt.close(figure)


@pytest.mark.parametrize("n", [1, 4])
def test_labels_with_room_stand_next_to_their_point(n):
    points = np.array([[0.0, 0.0], [1, 1], [0, 1], [1, 0]])[:n]
    figure, ax = plot(points)
    placed = place_labels(ax, points, list("abcd")[:n], 8)
    assert [label.get_text() for label in placed] == list("abcd")[:n]
    assert all(label.arrow_patch is None for label in placed), "no line is needed"
    plt.close(figure)
