// SPDX-License-Identifier: Apache-2.0
// A vector most of whose elements were never written. It takes memory in small segments, when one
// of their elements is first written, so no call takes long however large the vector is.
// ObjectTable keeps in it what few objects have.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace starling {

template <class T>
class SparseVector {
 public:
  static constexpr std::size_t segment_size = 1024;

  /// Returns the element to be written; T{} if it was never written.
  T& at(std::size_t index) {
    const std::size_t segment = index / segment_size;
    if (segment >= segments_.size()) segments_.resize(segment + 1);
    if (!segments_[segment]) segments_[segment] = std::make_unique<Segment>();
    return (*segments_[segment])[index % segment_size];
  }
  /// Returns the element, or null if it and its neighbours were never written.
  const T* find(std::size_t index) const {
    const std::size_t segment = index / segment_size;
    if (segment >= segments_.size() || !segments_[segment]) return nullptr;
    return &(*segments_[segment])[index % segment_size];
  }
  std::uint64_t bytes_used() const {
    const auto count = std::ranges::count_if(segments_, [](const auto& each) { return !!each; });
    return static_cast<std::uint64_t>(count) * sizeof(Segment);
  }

 private:
  using Segment = std::array<T, segment_size>;
  std::vector<std::unique_ptr<Segment>> segments_;
};

}  // namespace starling
