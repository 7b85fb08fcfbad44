// SPDX-License-Identifier: Apache-2.0
// Work on several threads whose results come back to the loop in the order the work was given: the
// server's decoding. The caller bounds what is in flight, by `waiting()`.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace boost::asio {
class io_context;
class thread_pool;
}  // namespace boost::asio

namespace starling::stream {

class OrderedPool {
 public:
  /// Runs on the loop, in order. What the work has made is captured in it.
  using Completion = std::function<void()>;
  /// Runs on a worker; does not throw.
  using Work = std::function<Completion()>;

  OrderedPool(boost::asio::io_context& loop, unsigned thread_count);
  /// Waits for the workers. The loop must not run afterwards.
  ~OrderedPool();

  void submit(Work work);
  /// Needs no worker, only its turn.
  void submit_done(Completion completion);

  /// Given and not yet completed.
  std::size_t waiting() const { return slots_.size(); }

 private:
  void finished(std::size_t number, Completion completion);
  void complete_soon();
  void complete_next();

  boost::asio::io_context& loop_;
  std::deque<std::optional<Completion>> slots_;  ///< by number; the front is the next to complete
  std::size_t first_number_ = 0;
  bool completing_ = false;  ///< a call of complete_next is posted
  std::unique_ptr<boost::asio::thread_pool> workers_;
};

}  // namespace starling::stream
