// SPDX-License-Identifier: Apache-2.0
// The sink of the server's log. A separate thread writes the lines, so that a slow, stopped or
// missing reader of the log cannot hold the server. Lines that do not fit in the queue are dropped
// and counted, and the log says how many are missing. Text of clients is escaped
// as plain_text() does, so that it can neither look like a line nor control a terminal. `starling
// serve` makes it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <spdlog/sinks/base_sink.h>

namespace starling::stream {

struct DroppingLogOptions {
  int descriptor = 2;  ///< the file that lines are written to
  bool has_colors = false;
  std::size_t lines_max = 4096;                  ///< the most lines that wait to be written
  std::size_t bytes_max = std::size_t{1} << 20;  ///< the most bytes of these lines
  /// Returns the line, without a newline, that says how many lines are missing before the next
  /// line.
  std::function<std::string(std::uint64_t lines)> report_of = [](std::uint64_t lines) {
    return std::to_string(lines) +
           " lines of the log are missing here: they could not be written in time";
  };
};

class DroppingLog final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit DroppingLog(const DroppingLogOptions& options);
  /// Closes the log without waiting for the thread.
  ~DroppingLog() override;

  /// Returns the number of lines dropped so far, because the queue was full or the descriptor did
  /// not take them.
  std::uint64_t dropped() const;

  /// Waits until all lines are written, but not longer than `patience`. Lines that are logged later
  /// are dropped. Returns false if the thread still waits to write.
  bool close(std::chrono::milliseconds patience);

 private:
  struct Queue;

  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  std::shared_ptr<Queue> queue_;  ///< the thread may outlive this object
  std::thread writer_;
};

}  // namespace starling::stream
