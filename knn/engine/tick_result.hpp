// SPDX-License-Identifier: Apache-2.0
// The result of a tick, which an Engine delivers: the lists that changed in the way that their
// streams report. Queries are identified by slot. Processor turns a TickResult into a TickReport.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// One list that its stream reports.
struct ReportedList {
  static constexpr std::uint64_t no_state = ~std::uint64_t{0};

  Slot query = no_slot;
  ListEvent event = ListEvent::updated;
  bool has_subject = false;  ///< this is the list of `subject` in an every-object query
  ObjectId subject{};
  std::uint32_t count = 0;               ///< number of neighbours
  std::uint64_t first = 0;               ///< index into TickResult::neighbors
  std::uint64_t first_state = no_state;  ///< index into TickResult::states, or no_state
};

/// How long the parts of a tick took, by the clock of the host or of the device.
struct StageTimes {
  double copy_in_ms = 0;  ///< copying staged rows to a device, and applying them there
  double build_ms = 0;    ///< building the index; on the CPU also applying staged rows
  double search_ms = 0;
  double diff_ms = 0;      ///< comparing the lists with the last tick's, and collecting the reports
  double copy_out_ms = 0;  ///< copying reports from a device
};

/// When stages of a tick ended: microseconds of the host's steady clock. 0: unknown.
struct StageEnds {
  struct Span {
    std::int64_t begin_us = 0;
    std::int64_t end_us = 0;
  };
  /// When parts of the rows were copied to a device, before the tick began: see
  /// Staging::part_ends.
  std::vector<Span> copied_ahead;
  std::int64_t copied_in_us = 0;
  std::int64_t computed_us = 0;  ///< the comparison of lists has ended
  std::int64_t copied_out_us = 0;
};

struct TickResult {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t objects = 0;            ///< alive in the snapshot
  std::uint64_t engine_bytes = 0;       ///< Engine::bytes_used().total() after the tick
  std::span<const ReportedList> lists;  ///< ordered by query slot; removals before updates
  std::span<const Neighbor> neighbors;  ///< entries that are in no list are unspecified
  std::span<const NeighborState> states;
  /// Empty, or one prediction for each of `lists`. A removed list has an empty prediction.
  std::span<const Prediction> predictions;
  /// Owns the memory of the four spans. The engine uses this memory again after the last owner is
  /// gone.
  std::shared_ptr<const void> owner;
  StageTimes times;
  StageEnds ends;
  /// Empty, or why the tick failed and what to do. After a failed tick the old lists stay valid,
  /// and the engine keeps the rows of the tick.
  std::string error;
  /// True if the device is lost: no later tick of this engine can finish.
  bool is_engine_lost = false;
};

}  // namespace starling
