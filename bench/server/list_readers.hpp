// SPDX-License-Identifier: Apache-2.0
// Subscribers that read every list of every tick. Each subscriber has one stream and one thread.
// The workload `million` uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "starling/bench/server/server_child.hpp"

namespace starling::bench {

/// A tick, after all subscribers have read all its lists.
struct HeldTick {
  std::int64_t tau_us = 0;
  std::int64_t held_us = 0;  ///< wall-clock time at which the last subscriber had read its lists
  std::size_t lists = 0;     ///< number of lists of all streams together
  std::size_t bytes = 0;     ///< number of bytes of all streams together
};

class ListReaders {
 public:
  ListReaders(const ServerChild& server, const std::vector<std::string>& streams);
  ~ListReaders();

  /// Returns true if each subscriber has read a tick of this time or of a later time.
  bool have_tick_of(std::int64_t tau_us) const;
  void stop();

  // Call these after stop():
  /// Returns the ticks that all subscribers have read, in the order of their times.
  std::vector<HeldTick> ticks() const;
  /// Returns the number of messages that the subscribers lost or could not read. A message is lost
  /// if it is missing between the first and the last message with `begin_us` <= tau < `end_us`.
  std::uint64_t lost(std::int64_t begin_us, std::int64_t end_us) const;
  /// Returns the bytes of each frame of the longest message of each stream.
  std::vector<std::vector<std::size_t>> frame_bytes() const;

 private:
  class Reader;
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace starling::bench
