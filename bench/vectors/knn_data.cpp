// SPDX-License-Identifier: Apache-2.0
// Makes random rows: see knn_data.hpp. Each component is a hash of the seed and of the component's
// index, so that threads can make ranges of rows independently.
#include "starling/bench/vectors/knn_data.hpp"

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/seeded_hash.hpp"

namespace starling::bench {

std::vector<float> random_rows(Metric metric, std::uint32_t rows, std::uint32_t dimension,
                               std::uint64_t seed) {
  std::vector<float> components(std::size_t{rows} * dimension);
  const bool is_positive = !allows_negatives(metric);
  const std::uint64_t start = split_mix(seed + 1);
  for_each_range(rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin * dimension; i < end * dimension; ++i) {
      const std::uint64_t bits = split_mix(start + (i + 1) * golden_gamma) >> 40;
      const float unit = static_cast<float>(bits) * 0x1p-24f;
      components[i] = is_positive ? unit : 2 * unit - 1;
    }
    const std::span<float> range =
        std::span(components).subspan(begin * dimension, (end - begin) * dimension);
    const bool is_faulty = prepare_vectors(metric, {range, dimension}, range).has_value();
    check_invariant(!is_faulty, "random rows have components for every metric");
  });
  return components;
}

}  // namespace starling::bench
