// SPDX-License-Identifier: Apache-2.0
// Makes random rows for `starling bench knn` and for the workload `vectors` of `starling bench
// server`. The rows are prepared for their metric. The same seed gives the same rows on any number
// of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "starling/knn/words/metric.hpp"

namespace starling::bench {

/// Splits [0, count) into ranges of about the same length, one for each core. Calls `task` with the
/// begin and the end of each range, each on a thread of its own.
template <class Task>
void for_each_range(std::size_t count, const Task& task) {
  const std::size_t ranges = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                                     std::max<std::size_t>(count, 1));
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < ranges; ++i)
    others.emplace_back(std::cref(task), count * i / ranges, count * (i + 1) / ranges);
  task(std::size_t{0}, count / ranges);
}

/// Returns random rows, prepared for `metric`. Before the preparation, their components are
/// uniformly distributed: in [-1, 1), or in [0, 1) if the metric refuses negatives. Different seeds
/// give independent rows.
std::vector<float> random_rows(Metric metric, std::uint32_t rows, std::uint32_t dimension,
                               std::uint64_t seed);

}  // namespace starling::bench
