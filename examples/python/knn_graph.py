# SPDX-License-Identifier: Apache-2.0
"""The k-NN graph of points on two circles: its connected parts are the circles. Prints their sizes."""

import numpy as np
import starling

random = np.random.default_rng(1)
angles = random.uniform(0, 2 * np.pi, size=2000)
radii = np.where(np.arange(2000) < 1200, 1.0, 2.0)
points = np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])

graph = starling.knn(points, k=8)  # no point is its own neighbour

# Each point takes the least label of itself and its neighbours, until nothing changes.
labels = np.arange(len(points))
while True:
    lower = np.minimum(labels, labels[graph.indices].min(axis=1))
    np.minimum.at(lower, graph.indices.ravel(), np.repeat(lower, 8))
    if (lower == labels).all():
        break
    labels = lower

print("parts:", sorted(np.bincount(labels)[np.unique(labels)].tolist()))
print("longest edge:", round(float(graph.distances.max()), 3))
