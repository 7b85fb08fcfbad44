// Threads that help the one that brings work made of many independent pieces: the encoding of a
// tick's parts. They sleep between ticks; the CPU engine's, which spin, are
// knn/base/thread_pool.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace boost::asio {
class thread_pool;
}

namespace starling::stream {

class Helpers {
 public:
  /// None: all work is the caller's own.
  explicit Helpers(unsigned thread_count);
  ~Helpers();

  /// Calls work(0) to work(count - 1), on the caller's thread and the helpers', in any order and
  /// some at a time; returns when all have returned. If some throw, throws what one of them did.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  unsigned thread_count_;
  std::unique_ptr<boost::asio::thread_pool> threads_;
};

}  // namespace starling::stream
