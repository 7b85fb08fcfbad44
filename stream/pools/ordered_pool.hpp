// SPDX-License-Identifier: Apache-2.0
// Runs work on several threads and completes it on the loop, in the order in which it was
// submitted. Server uses a pool to decode requests, and Ticker uses one to encode ticks. The pool
// accepts any amount of work, so the caller must limit waiting().
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
  /// Runs on the loop, in the order of submission. Holds the result of the work.
  using Completion = std::function<void()>;
  /// Runs on a worker. Must not throw.
  using Work = std::function<Completion()>;

  OrderedPool(boost::asio::io_context& loop, unsigned thread_count);
  /// Waits for the workers. The loop must not run afterwards.
  ~OrderedPool();

  void submit(Work work);
  /// Adds a completion that needs no work and only waits for its turn.
  void submit_done(Completion completion);

  /// The number of submissions that are not completed yet.
  std::size_t waiting() const { return slots_.size(); }

 private:
  void finished(std::size_t number, Completion completion);
  void complete_soon();
  void complete_next();

  boost::asio::io_context& loop_;
  std::deque<std::optional<Completion>> slots_;  ///< in submission order; the front completes next
  std::size_t first_number_ = 0;
  bool completing_ = false;  ///< a call of complete_next is posted
  std::unique_ptr<boost::asio::thread_pool> workers_;
};

}  // namespace starling::stream
