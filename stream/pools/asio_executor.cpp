// SPDX-License-Identifier: Apache-2.0
// Timers, posts and threads are those of Boost.Asio. Threads of low priority set their own
// priority. See asio_executor.hpp.
#include "starling/stream/pools/asio_executor.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "starling/knn/base/affinity.hpp"
#include "starling/knn/base/clocks.hpp"

namespace starling::stream {

namespace asio = boost::asio;

namespace {

class AsioTimer final : public Timer {
 public:
  explicit AsioTimer(asio::io_context& loop) : timer_(loop) {}

  void wait_until(std::int64_t due_us, std::function<void()> then) override {
    timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::microseconds(due_us)));
    timer_.async_wait([then = std::move(then)](const boost::system::error_code& error) {
      if (!error) then();
    });
  }
  void cancel() override { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

class AsioThreads final : public Threads {
 public:
  AsioThreads(unsigned count, ThreadPriority priority) : priority_(priority), pool_(count) {}
  ~AsioThreads() override {
    pool_.stop();
    pool_.join();
  }
  void post(std::function<void()> task) override {
    asio::post(pool_, [this, task = std::move(task)] {
      thread_local bool has_given_way = false;
      if (priority_ != ThreadPriority::normal && !std::exchange(has_given_way, true))
        set_priority_of_this_thread(priority_);
      task();
    });
  }

 private:
  const ThreadPriority priority_;
  asio::thread_pool pool_;
};

}  // namespace

std::int64_t AsioExecutor::worked_us() const {
  return thread_time_us();
}

std::int64_t AsioExecutor::now_us() const {
  return steady_now_us();
}

void AsioExecutor::post(std::function<void()> task) {
  asio::post(loop_, std::move(task));
}

std::unique_ptr<Timer> AsioExecutor::make_timer() {
  return std::make_unique<AsioTimer>(loop_);
}

std::unique_ptr<Threads> AsioExecutor::make_threads(unsigned count, ThreadPriority priority) {
  return std::make_unique<AsioThreads>(count, priority);
}

}  // namespace starling::stream
