// SPDX-License-Identifier: Apache-2.0
// A vector for data that few indexes have. It allocates a segment of 1,024 elements when one of
// them is first written, so no call takes long at any size. ObjectTable uses it for data that few
// objects have.
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

  /// Returns the element for writing. It is T{} if it was never written.
  T& at(std::size_t index) {
    const std::size_t segment = index / segment_size;
    if (segment >= segments_.size()) segments_.resize(segment + 1);
    if (!segments_[segment]) segments_[segment] = std::make_unique<Segment>();
    return (*segments_[segment])[index % segment_size];
  }
  /// Returns the element, or null if no element of its segment was written.
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
