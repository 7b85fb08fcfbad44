// SPDX-License-Identifier: Apache-2.0
// Makes memory run out. While a FailingNew lives, operator new throws std::bad_alloc for
// allocations of at least a given size, on every thread or on all threads except the one that made
// the object. For test programs that link failing_new.cpp.
#pragma once

#include <cstddef>

namespace starling::test {

class FailingNew {
 public:
  enum class On { every_thread, other_threads };

  explicit FailingNew(std::size_t bytes_min, On threads = On::every_thread);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
};

}  // namespace starling::test
