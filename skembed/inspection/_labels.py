"""Labels of points that cover neither each other nor a point."""

import numpy as np

RADII = (5, 9, 15, 24, 36, 50)  # distances from the point, in points of 1/72 inch
DIRECTIONS = 16
GAP = 1.5  # kept free around a label, in pixels
LEADER = 9  # distance from which a line leads to the point


def place_labels(ax, points, labels, size):
    """Write labels next to points of a plot, in order, each where there is room for it.

    Positions around the point are tried from near to far; the first that lies within the axes and
    covers no point and no label is taken. A label that finds no room is left out.

    Parameters
    ----------
    ax : matplotlib Axes
        The plot; its limits and the size of the figure are final.
    points : ndarray of shape (n, 2)
        The points, in data coordinates.
    labels : list of str
        Their labels; an empty one is skipped.
    size : float
        Size of the font.

    Returns
    -------
    list of Annotation
        The labels that were placed.
    """
    figure = ax.figure
    figure.draw_without_rendering()  # settles the layout
    pixel = figure.dpi / 72
    at = ax.transData.transform(points)
    inside = ax.get_window_extent()
    frame = np.array([inside.x0 + GAP, inside.y0 + GAP, inside.x1 - GAP, inside.y1 - GAP])
    angles = np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)
    unit = np.column_stack([np.cos(angles), np.sin(angles)])
    radii = np.repeat(RADII, DIRECTIONS)
    unit = np.tile(unit, (len(RADII), 1))
    taken, placed = np.empty((0, 4)), []
    for point, xy, label in zip(points, at, labels, strict=True):
        if not label:
            continue
        extent = _size(ax, label, size)
        centres = xy + unit * (radii[:, None] * pixel + extent / 2)
        boxes = np.hstack([centres - extent / 2, centres + extent / 2])
        free = _within(boxes, frame) & ~_cover(boxes, at) & ~_meet(boxes, taken)
        if not free.any():
            continue
        best = int(np.argmax(free))
        leader = {"arrowstyle": "-", "lw": 0.4, "color": "0.5", "shrinkA": 0, "shrinkB": 1}
        placed.append(
            ax.annotate(
                label, point, xytext=(boxes[best, :2] - xy) / pixel, textcoords="offset points",
                fontsize=size, ha="left", va="bottom",
                arrowprops=leader if radii[best] >= LEADER else None,
            )
        )  # fmt: skip
        taken = np.vstack([taken, boxes[best] + [-GAP, -GAP, GAP, GAP]])
    return placed


def _size(ax, label, size):
    """Return width and height of a label in pixels."""
    text = ax.annotate(
        label, (0, 0), xycoords="axes fraction", fontsize=size, ha="left", va="bottom"
    )
    box = text.get_window_extent(ax.figure.canvas.get_renderer())
    text.remove()
    return np.array([box.width, box.height])


def _within(boxes, frame):
    return (boxes[:, :2] >= frame[:2]).all(axis=1) & (boxes[:, 2:] <= frame[2:]).all(axis=1)


def _cover(boxes, points):
    """Tell which boxes cover one of the points."""
    right = points[None] >= boxes[:, None, :2] - GAP
    left = points[None] <= boxes[:, None, 2:] + GAP
    return (right & left).all(axis=2).any(axis=1)


def _meet(boxes, others):
    """Tell which boxes meet one of the others."""
    low = boxes[:, None, :2] < others[None, :, 2:]
    high = boxes[:, None, 2:] > others[None, :, :2]
    return (low & high).all(axis=2).any(axis=1)
