// SPDX-License-Identifier: Apache-2.0
// Threads that help their caller with work made of many independent pieces: the encoding of a
// tick's parts. They sleep between ticks; the CPU engine's threads, which spin, are in
// knn/base/thread_pool.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace boost::asio {
class thread_pool;
}

namespace starling::stream {

class EncodeHelpers {
 public:
  /// With 0 threads the caller does all work itself.
  explicit EncodeHelpers(unsigned thread_count);
  ~EncodeHelpers();

  /// Calls work(0) to work(count - 1) in any order, on the caller's thread and the helpers' at the
  /// same time; returns when all calls have returned. If calls throw, throws what one of them
  /// threw.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  unsigned thread_count_;
  std::unique_ptr<boost::asio::thread_pool> threads_;
};

}  // namespace starling::stream
