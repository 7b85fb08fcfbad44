// SPDX-License-Identifier: Apache-2.0
// Makes memory run out. While a FailingNew object lives, operator new throws std::bad_alloc for
// allocations of at least `bytes_min`. This applies to every thread, or to all threads except the
// one that made the object. Test programs that use it must link failing_new.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling::test {

class FailingNew {
 public:
  enum class On { every_thread, other_threads };

  explicit FailingNew(std::size_t bytes_min, On threads = On::every_thread);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
};

/// While an object lives, the allocation of this thread with this number fails, counted from 1.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t number);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Returns the number of allocations up to the one that fails, included. 0: it has failed.
  std::uint64_t left() const;
  bool has_failed() const { return left() == 0; }
};

/// While an object lives, this thread's allocations do not count for FailingAllocation.
class SparedAllocations {
 public:
  SparedAllocations();
  ~SparedAllocations();
  SparedAllocations(const SparedAllocations&) = delete;
  SparedAllocations& operator=(const SparedAllocations&) = delete;

 private:
  bool was_counting_;
};

}  // namespace starling::test
