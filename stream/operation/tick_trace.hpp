// SPDX-License-Identifier: Apache-2.0
// Writes a file with the times at which the stages of each tick began and ended. chrome://tracing
// and Perfetto open it (the Trace Event Format, in JSON). `starling serve --trace` asks for the
// file. Ticker and ServerCore call TickTrace on the loop.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "starling/knn/engine/tick_result.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::stream {

/// The times of a tick on the steady clock, in microseconds.
struct TickTimeline {
  Tick tick{};
  std::int64_t begun_us = 0;    ///< Processor::begin_tick was called
  std::int64_t arrived_us = 0;  ///< the loop took the result
  std::int64_t sorted_us = 0;   ///< the lists were sorted by stream, and the encoder got them
  std::int64_t encode_us = 0;   ///< the encoding of the messages began
  std::int64_t encoded_us = 0;
  std::int64_t sent_us = 0;  ///< the results socket has all messages
  StageTimes stages;
  StageEnds ends;
};

class TickTrace {
 public:
  /// Traces the first `ticks_max` ticks, and at most 1000 * `ticks_max` calls of updates(). Throws
  /// std::runtime_error if the file cannot be written.
  TickTrace(const std::string& path, std::uint64_t ticks_max);
  ~TickTrace();

  void tick(const TickTimeline& timeline);
  /// Traces that updates of `rows` objects were applied from `begin_us` to `end_us`.
  void updates(std::int64_t begin_us, std::int64_t end_us, std::size_t rows);

 private:
  void span(int lane, std::string_view name, std::int64_t begin_us, std::int64_t end_us,
            std::string_view argument, std::uint64_t value);
  void name_lane(int lane, std::string_view name);
  void end();

  std::string path_;
  std::ofstream file_;
  std::uint64_t ticks_left_;
  std::uint64_t updates_left_;
};

}  // namespace starling::stream
