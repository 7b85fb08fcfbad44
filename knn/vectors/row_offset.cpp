// SPDX-License-Identifier: Apache-2.0
// Keeps the range of each component, and two hashes of each row. See row_offset.hpp.
#include "starling/knn/vectors/row_offset.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "starling/knn/base/seeded_hash.hpp"

namespace starling {
namespace {

// If float32 holds the numbers, an offset makes only queries more exact. A query that is nearer to
// 0 than to the numbers becomes less exact. From this gain on, that loss is below the rounding of
// the sums.
constexpr double float32_gain_min = 256;

float nearest_float32(double number) {
  constexpr double largest = std::numeric_limits<float>::max();
  if (std::isfinite(number)) number = std::clamp(number, -largest, largest);
  return static_cast<float>(number);
}

std::uint64_t bits_of(double number) {
  return std::bit_cast<std::uint64_t>(number + 0.0);  // -0 counts as 0
}

template <class Number>
std::uint64_t hash_of(std::span<const Number> row) {
  std::uint64_t hash = golden_gamma;
  for (const Number number : row)
    hash = folded_product(hash ^ bits_of(static_cast<double>(number)), golden_gamma);
  return hash;
}

}  // namespace

OffsetChoice::OffsetChoice(Metric metric, std::uint32_t dimension, bool is_text)
    : ranges_(dimension), is_text_(is_text), is_open_(ignores_offset(metric)) {}

/// Returns the factor by which an offset makes the smallest magnitude smaller. It is at least 1 if
/// the component may have an offset, else 0.
double OffsetChoice::Range::gain() const {
  if (!is_allowed || !has_rows || (least <= 0 && most >= 0)) return 0;
  const double smallest = std::min(std::fabs(least), std::fabs(most));
  const double spread = most - least;
  if (spread > smallest) return 0;
  return spread == 0 ? std::numeric_limits<double>::infinity() : smallest / spread;
}

void OffsetChoice::see(std::span<const double> rows) {
  if (!is_open_) return;
  const std::size_t dimension = ranges_.size();
  for (std::size_t first = 0; first < rows.size(); first += dimension) {
    for (std::size_t j = 0; j < dimension; ++j) {
      const double number = rows[first + j];
      Range& range = ranges_[j];
      if (!range.has_rows) range.least = range.most = number;
      range.has_rows = true;
      range.least = std::min(range.least, number);
      range.most = std::max(range.most, number);
      range.is_allowed = range.is_allowed && std::fabs(number) <= double{component_max};
      range.is_float32 = range.is_float32 && static_cast<double>(nearest_float32(number)) == number;
    }
    // Most corpora have numbers of both signs, which the first rows show.
    if (std::ranges::none_of(ranges_, [](const Range& range) { return range.gain() > 0; })) {
      is_open_ = false;
      return;
    }
  }
}

std::vector<double> OffsetChoice::offset() const {
  if (!is_open_) return {};
  std::vector<double> offset(ranges_.size());
  for (std::size_t j = 0; j < offset.size(); ++j) {
    const Range& range = ranges_[j];
    if (range.gain() < (range.is_float32 ? float32_gain_min : 1)) continue;
    if (range.is_float32 && is_text_) continue;
    const double spread = range.most - range.least;
    const double step = spread == 0 ? 0 : std::ldexp(1.0, std::ilogb(spread) - 3);
    const double middle = range.least + spread / 2;
    offset[j] = step == 0 ? range.least : std::nearbyint(middle / step) * step;
  }
  if (std::ranges::all_of(offset, [](double less) { return less == 0; })) return {};
  return offset;
}

void round_to_float32(std::span<const double> numbers, std::span<float> rounded) {
  for (std::size_t i = 0; i < numbers.size(); ++i) rounded[i] = nearest_float32(numbers[i]);
}

void subtract_offset(std::span<const double> offset, std::span<const double> rows,
                     std::span<float> rounded) {
  std::vector<std::size_t> components;  // components that have an offset
  for (std::size_t j = 0; j < offset.size(); ++j)
    if (offset[j] != 0) components.push_back(j);
  if (components.empty()) return;
  for (std::size_t first = 0; first < rounded.size(); first += offset.size())
    for (const std::size_t j : components) {
      const double number = rows.empty() ? double{rounded[first + j]} : rows[first + j];
      rounded[first + j] = nearest_float32(number - offset[j]);
    }
}

void MergedRows::add(std::span<const double> rows, std::span<const float> rounded) {
  for (std::size_t first = 0; first < rows.size(); first += dimension_) {
    const Hashes hashes{hash_of(rounded.subspan(first, dimension_)),
                        hash_of(rows.subspan(first, dimension_))};
    has_rounded_ = has_rounded_ || hashes.rounded != hashes.row;
    hashes_.push_back(hashes);
  }
}

void MergedRows::replace_rounded(std::span<const float> rounded) {
  for (std::size_t i = 0; i < hashes_.size(); ++i)
    hashes_[i].rounded = hash_of(rounded.subspan(i * dimension_, dimension_));
}

std::uint64_t MergedRows::count(Poll poll) const {
  if (!has_rounded_) return 0;
  std::vector<Hashes> sorted = hashes_;
  std::ranges::sort(sorted, [&](const Hashes& a, const Hashes& b) {
    poll.after_tiny_step();
    return a < b;
  });
  std::uint64_t merged = 0;
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::find_if(
        first, sorted.end(), [&](const Hashes& each) { return each.rounded != first->rounded; });
    if ((last - 1)->row != first->row) merged += static_cast<std::uint64_t>(last - first);
    first = last;
  }
  return merged;
}

}  // namespace starling
