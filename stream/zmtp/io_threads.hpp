// SPDX-License-Identifier: Apache-2.0
// The threads that read and write the connections of the commands and the results endpoint. Each
// has a Boost.Asio loop of its own. Server owns them.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace starling::stream::zmtp {

class IoThreads {
 public:
  explicit IoThreads(std::size_t count);
  /// Stops the loops and joins the threads.
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  std::size_t count() const { return threads_.size(); }
  boost::asio::io_context& loop(std::size_t index) { return threads_[index]->loop; }

 private:
  struct Thread {
    Thread();
    boost::asio::io_context loop{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
    std::thread thread;
  };

  std::vector<std::unique_ptr<Thread>> threads_;
};

/// Some of the threads: `count` of them, from `first` on.
struct IoThreadRange {
  std::size_t first = 0;
  std::size_t count = 1;
};

}  // namespace starling::stream::zmtp
