// SPDX-License-Identifier: Apache-2.0
// Tests every object for many filters at once, with SIMD. The objects are read once, in blocks that
// stay in the first-level cache while all filters test them. FilteredIndexes runs a PassingScan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/passing_test.hpp"
#include "starling/knn/base/thread_pool.hpp"

namespace starling::cpu {

class PassingScan {
 public:
  /// Finds, for each test, the objects that pass the test. `oldest_us` has the oldest times of all
  /// filters, from which ranks are made: see PassingTest.
  void run(const ObjectSnapshot& objects, std::span<const PassingTest> tests,
           std::span<const std::int64_t> oldest_us, ThreadPool& pool);

  /// Appends, in ascending order, the slots that passed a test in the last run. Any thread may call
  /// it.
  void append_slots(std::size_t test, std::vector<Slot>& slots) const;

  std::uint64_t bytes_used() const;

 private:
  std::size_t slices_ = 0;
  std::vector<std::vector<Slot>> found_;  ///< [slice of the slots][test]
};

}  // namespace starling::cpu
