// SPDX-License-Identifier: Apache-2.0
// A Listener is a subscriber with its own thread and connections. It records the time at which each
// tick is complete. The workloads that advance ticks on request use it: server_ticks.cpp and
// server_vectors.cpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <zmq.hpp>

#include "starling/bench/clock.hpp"
#include "starling/bench/server/server_child.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/client/subscriber.hpp"

namespace starling::bench {

class Listener {
 public:
  /// Called on the listener's thread for each tick, with all lists of the stream. The clock is read
  /// before the call, so the handler's own time does not count.
  using Handler = std::function<void(const protocol::ListStore&)>;

  Listener(const ServerChild& server, std::string stream, Handler handler = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Waits until the listener has received `tick` completely. Returns the time at which the tick
  /// was complete. Throws std::runtime_error if this takes longer than 60 s, if any tick was lost,
  /// or if a later tick has come already.
  Clock::time_point wait_for(Tick tick);

 private:
  void note(const protocol::TickHeader& header);

  Handler handler_;
  zmq::context_t context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point held_at_;
  std::uint64_t newest_ = 0;
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<bool> stopping_{false};
  protocol::Subscriber subscriber_;
  std::thread thread_;
};

}  // namespace starling::bench
