# SPDX-License-Identifier: Apache-2.0
# Asks for the two nearest of four points, as examples/ask.cpp does.
import numpy as np
import starling

points = np.array([[0, 0, 0], [1, 0, 0], [0, 3, 0], [5, 5, 5]], dtype=np.float32)
found = starling.knn(points, queries=[[1, 1, 0]], k=2)
for row, distance in zip(found.indices[0], found.distances[0]):
    print(f"{row} at {distance:g}")
