// SPDX-License-Identifier: Apache-2.0
// EventReaders are readers of a stream's events over HTTP, or of views over WebSockets. One thread
// reads and discards all data. The workload `tick` uses EventReaders to measure whether readers
// delay the ticks of another stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

#include "starling/bench/server/server_child.hpp"
#include "starling/knn/words/rectangle.hpp"

namespace starling::bench {

class EventReaders {
 public:
  /// Opens `count` connections, and returns when each has a snapshot. Throws std::runtime_error if
  /// the server refuses one.
  EventReaders(const ServerChild& server, std::string_view stream, unsigned count);
  /// Opens `count` WebSockets with a view of `rectangle`.
  EventReaders(const ServerChild& server, const Rectangle& rectangle, float ticks_per_s,
               unsigned count);
  ~EventReaders();
  EventReaders(const EventReaders&) = delete;
  EventReaders& operator=(const EventReaders&) = delete;

  /// Returns the number of bytes that all readers have got. Throws std::runtime_error if the server
  /// closed a connection.
  std::uint64_t bytes() const;

 private:
  void watch(int socket);
  void read_all();
  void close_all();

  std::vector<int> sockets_;
  int poll_ = -1;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace starling::bench
