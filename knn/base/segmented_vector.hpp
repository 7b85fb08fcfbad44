// SPDX-License-Identifier: Apache-2.0
// A vector whose elements never move, because it consists of segments of equal size. Growth takes
// the same short time at any size. QueryTable keeps its queries in a SegmentedVector.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace starling {

template <class T>
class SegmentedVector {
 public:
  static constexpr std::size_t segment_size = 1024;

  T& operator[](std::size_t index) { return segments_[index / segment_size][index % segment_size]; }
  const T& operator[](std::size_t index) const {
    return segments_[index / segment_size][index % segment_size];
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  T& emplace_back() {
    if (size_ == segments_.size() * segment_size)
      segments_.push_back(std::make_unique<T[]>(segment_size));
    return (*this)[size_++];
  }

 private:
  std::vector<std::unique_ptr<T[]>> segments_;
  std::size_t size_ = 0;
};

}  // namespace starling
