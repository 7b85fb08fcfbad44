// Makes memory run out: while one of these lives, an allocation by operator new of so many bytes or
// more throws std::bad_alloc, on every thread or on all but the one that made it. Programs that
// link failing_new.cpp may use it.
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
