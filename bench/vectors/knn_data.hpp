// SPDX-License-Identifier: Apache-2.0
// Random rows for `starling bench knn` and `bench server vectors`, prepared for their metric. The
// same seed gives the same rows on any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "starling/knn/words/metric.hpp"

namespace starling::bench {

/// Splits [0, count) into even ranges, one for each core, and calls task(begin, end) for each.
template <class Task>
void for_each_range(std::size_t count, const Task& task) {
  const std::size_t ranges = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                                     std::max<std::size_t>(count, 1));
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < ranges; ++i)
    others.emplace_back(std::cref(task), count * i / ranges, count * (i + 1) / ranges);
  task(std::size_t{0}, count / ranges);
}

/// Returns prepared rows. Their components are uniform, in [0, 1) for Hellinger and in [-1, 1)
/// otherwise. Rows of different seeds are independent.
std::vector<float> random_rows(Metric metric, std::uint32_t rows, std::uint32_t dimension,
                               std::uint64_t seed);

}  // namespace starling::bench
