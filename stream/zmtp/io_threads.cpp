// SPDX-License-Identifier: Apache-2.0
// Starts a thread for each loop: see io_threads.hpp.
#include "starling/stream/zmtp/io_threads.hpp"

#include <exception>

namespace starling::stream::zmtp {

IoThreads::Thread::Thread() : work(boost::asio::make_work_guard(loop)) {
  thread = std::thread([this] {
    // Connections and listeners catch their own exceptions. An exception from other work ends only
    // this work, not the process.
    for (;;) {
      try {
        loop.run();
        return;
      } catch (const std::exception&) {
        continue;
      }
    }
  });
}

IoThreads::IoThreads(std::size_t count) {
  for (std::size_t index = 0; index < count; ++index)
    threads_.push_back(std::make_unique<Thread>());
}

IoThreads::~IoThreads() {
  for (const auto& each : threads_) each->loop.stop();
  for (const auto& each : threads_) each->thread.join();
}

}  // namespace starling::stream::zmtp
