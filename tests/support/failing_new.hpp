// Makes memory run out: while one of these lives, an allocation by operator new of so many bytes or
// more throws std::bad_alloc, on every thread. Programs that link failing_new.cpp may use it.
#pragma once

#include <cstddef>

namespace starling::test {

class FailingNew {
 public:
  explicit FailingNew(std::size_t bytes_min);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
};

}  // namespace starling::test
