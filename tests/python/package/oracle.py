# SPDX-License-Identifier: Apache-2.0
"""Neighbour lists by brute force with numpy, for the tests of the Python package. It shares no code with the
library: it computes all distances and sorts them."""

import numpy

AXIS_M, FLATTENING = 6378137.0, 1 / 298.257223563


def rounded(values):
    """Rounds to whole numbers, halves away from zero."""
    whole = numpy.floor(numpy.abs(values))
    whole += numpy.abs(values) - whole >= 0.5
    return numpy.copysign(whole, values).astype(numpy.int64)


def to_lattice(positions, space="planar2", resolution_m=0.01, origin=(0, 0, 0)):
    """Returns the lattice points of positions (n, 2 or 3), int64 (n, 3)."""
    places = numpy.zeros((len(positions), 3))
    places[:, :numpy.shape(positions)[1]] = positions
    if space == "planar2":
        places[:, 2] = 0
    metres = earth_centred(places) if space == "wgs84" else places - numpy.array(origin)
    return rounded(metres / resolution_m)


def earth_centred(places):
    """Turns degrees of longitude and latitude and metres of altitude into metres from the earth's centre."""
    eccentricity_sq = FLATTENING * (2 - FLATTENING)
    longitude, latitude = numpy.radians(places[:, 0]), numpy.radians(places[:, 1])
    normal = AXIS_M / numpy.sqrt(1 - eccentricity_sq * numpy.sin(latitude) ** 2)
    from_axis = (normal + places[:, 2]) * numpy.cos(latitude)
    return numpy.column_stack([
        from_axis * numpy.cos(longitude), from_axis * numpy.sin(longitude),
        (normal * (1 - eccentricity_sq) + places[:, 2]) * numpy.sin(latitude)])


def squares(points, others):
    """Returns exact squared distances of lattice points, (n, m)."""
    apart = points[:, None, :] - others[None, :, :]
    return (apart * apart).sum(axis=2)


def nearest(scores, ids, k):
    """Returns the indices of the k least pairs (score, id), nearest first."""
    return numpy.lexsort((ids, scores))[:k]


def plain_distances(metric, queries, points):
    """Returns distances in float64, (m, n). The rows are not rounded first."""
    apart = numpy.abs(queries[:, None, :] - points[None, :, :])
    if metric == "l2":
        return numpy.sqrt((apart * apart).sum(axis=2))
    return apart.sum(axis=2) if metric == "l1" else apart.max(axis=2)


def prepared(metric, rows):
    """Returns rows as docs/vectors.md prepares them: in float64, then rounded to float32."""
    raw = numpy.asarray(rows, dtype=numpy.float32).astype(numpy.float64)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        if metric == "pearson":
            is_flat = (raw == raw[:, :1]).all(axis=1)
            raw = raw - raw.mean(axis=1, keepdims=True)
            raw[is_flat] = 0
        if metric in ("cosine", "pearson"):
            length = numpy.sqrt((raw * raw).sum(axis=1, keepdims=True))
            raw = numpy.where(length > 0, raw / length, 0)
        elif metric == "hellinger":
            raw = numpy.sqrt(raw)
        elif metric in ("jensen-shannon", "kullback-leibler"):
            total = raw.sum(axis=1, keepdims=True)
            raw = numpy.where(total > 0, raw / total, 0)
    return raw.astype(numpy.float32).astype(numpy.float64)


def distances(metric, queries, points):
    """Returns the distances of docs/vectors.md in float64, (queries, points)."""
    x, y = prepared(metric, queries)[:, None, :], prepared(metric, points)[None, :, :]
    if metric == "inner-product":
        return -(x * y).sum(axis=2)
    if metric == "l1":
        return numpy.abs(x - y).sum(axis=2)
    if metric == "chebyshev":
        return numpy.abs(x - y).max(axis=2)
    if metric == "jensen-shannon":
        middle = (x + y) / 2
        return numpy.sqrt((divergence(x, middle) + divergence(y, middle)) / 2)
    if metric == "kullback-leibler":
        return divergence(x, y)
    square = ((x - y) ** 2).sum(axis=2)
    return {"l2": numpy.sqrt(square), "cosine": square / 2, "pearson": square / 2,
            "hellinger": numpy.sqrt(square / 2)}[metric]


def divergence(x, y):
    """Returns the sum of x ln(x / y) - x + y, where a component below 2^-126 counts as 2^-126 in ln."""
    least = 2.0 ** -126
    logarithm = numpy.log(numpy.maximum(x, least) / numpy.maximum(y, least))
    return (numpy.where(x > 0, x * logarithm, 0) - x + y).sum(axis=2)
