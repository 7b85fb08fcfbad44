// SPDX-License-Identifier: Apache-2.0
// Threads that help their caller with many independent pieces of work. encode_report uses them to
// encode the parts of a tick. The threads sleep between ticks. The CPU engine's threads spin
// instead: see knn/base/thread_pool.hpp.
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
  /// With 0 threads, the caller does all the work.
  explicit EncodeHelpers(unsigned thread_count);
  ~EncodeHelpers();

  /// Calls work(0) to work(count - 1) in any order, on the caller's and the helpers' threads at the
  /// same time. Returns when all calls have returned. If calls throw, throws the exception of one
  /// of them.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  unsigned thread_count_;
  std::unique_ptr<boost::asio::thread_pool> threads_;
};

}  // namespace starling::stream
