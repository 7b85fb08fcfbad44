// SPDX-License-Identifier: Apache-2.0
// The executor of the program: a Boost.Asio loop, the steady clock of the system, and threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "starling/stream/pools/executor.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

class AsioExecutor final : public Executor {
 public:
  /// The loop must not run after an object that uses the executor is destroyed.
  explicit AsioExecutor(boost::asio::io_context& loop) : loop_(loop) {}

  std::int64_t now_us() const override;
  std::int64_t worked_us() const override;
  void post(std::function<void()> task) override;
  std::unique_ptr<Timer> make_timer() override;
  std::unique_ptr<Threads> make_threads(unsigned count, ThreadPriority priority) override;

 private:
  boost::asio::io_context& loop_;
};

}  // namespace starling::stream
