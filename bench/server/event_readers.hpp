// SPDX-License-Identifier: Apache-2.0
// EventReaders are readers of a stream's events over HTTP. They read all events and drop them, on a
// thread of their own. The workload `tick` uses them to see whether they delay the ticks of another
// stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "starling/bench/server/server_child.hpp"

namespace starling::bench {

class EventReaders {
 public:
  /// Opens `count` connections, and returns when each has a snapshot. Throws std::runtime_error if
  /// the server refuses one.
  EventReaders(const ServerChild& server, std::string_view stream, unsigned count);
  ~EventReaders();
  EventReaders(const EventReaders&) = delete;
  EventReaders& operator=(const EventReaders&) = delete;

  /// Returns the number of bytes that all readers have got. Throws std::runtime_error if one was
  /// disconnected.
  std::uint64_t bytes() const;

 private:
  void open(const std::string& endpoint, std::string_view stream);
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
