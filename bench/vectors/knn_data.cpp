// SPDX-License-Identifier: Apache-2.0
// Makes random rows: see knn_data.hpp. Each component is a hash of the seed and of the component's
// index, so that threads can make ranges of rows independently.
#include "starling/bench/vectors/knn_data.hpp"

#include "starling/knn/base/assert.hpp"

namespace starling::bench {
namespace {

/// The mixing function of SplitMix64 (Steele, Lea & Flood 2014). random_rows applies it to a
/// counter, so that no component depends on an earlier component.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

std::vector<float> random_rows(Metric metric, std::uint32_t rows, std::uint32_t dimension,
                               std::uint64_t seed) {
  std::vector<float> components(std::size_t{rows} * dimension);
  const bool is_positive = !allows_negatives(metric);
  const std::uint64_t start = mixed(seed + 1);
  for_each_range(rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin * dimension; i < end * dimension; ++i) {
      const std::uint64_t bits = mixed(start + (i + 1) * 0x9e3779b97f4a7c15u) >> 40;
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
