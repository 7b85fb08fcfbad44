// SPDX-License-Identifier: Apache-2.0
// A thread that runs an Asio loop of its own, as an Executor and for sockets. EventHub and
// SocketHub serve their connections on one each.
#pragma once

#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "starling/stream/pools/asio_executor.hpp"

namespace starling::stream {

class OwnThread {
 public:
  OwnThread() : thread_([this] { context_.run(); }) {}
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;
  ~OwnThread() { join(); }

  boost::asio::io_context& context() { return context_; }
  Executor& executor() { return executor_; }
  /// Waits until the loop has nothing to do, or is stopped.
  void join() {
    idle_work_.reset();
    if (thread_.joinable()) thread_.join();
  }

 private:
  boost::asio::io_context context_{1};
  AsioExecutor executor_{context_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> idle_work_{
      context_.get_executor()};
  std::thread thread_;
};

}  // namespace starling::stream
