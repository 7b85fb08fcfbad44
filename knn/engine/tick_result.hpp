// SPDX-License-Identifier: Apache-2.0
// The result of a tick that an Engine delivers: the lists that changed as their streams report it,
// by slot. Processor turns it into a TickReport.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// One list that its stream reports.
struct ReportedList {
  static constexpr std::uint64_t no_state = ~std::uint64_t{0};

  Slot query = no_slot;
  ListEvent event = ListEvent::updated;
  bool has_subject = false;  ///< a list of an every-object query, identified by query and subject
  ObjectId subject{};
  std::uint32_t count = 0;               ///< neighbours
  std::uint64_t first = 0;               ///< index into TickResult::neighbors
  std::uint64_t first_state = no_state;  ///< index into TickResult::states, if asked for
};

/// How long the parts of a tick took, by the clock of the host or of the device.
struct StageTimes {
  double copy_in_ms = 0;  ///< copying staged rows to a device, and applying them there
  double build_ms = 0;    ///< building the index; on the CPU also applying staged rows
  double search_ms = 0;
  double diff_ms = 0;      ///< comparing with the last lists and collecting the reports
  double copy_out_ms = 0;  ///< copying reports from a device
};

struct TickResult {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t objects = 0;            ///< alive in the snapshot
  std::span<const ReportedList> lists;  ///< by query slot: first removals, then updates
  std::span<const Neighbor> neighbors;  ///< unspecified between the lists
  std::span<const NeighborState> states;
  /// Empty, or one vote for each list. std::nullopt if the query does not ask for a vote or the
  /// list is removed; no_label if no object of the list has a label.
  std::span<const std::optional<Label>> votes;
  /// Owns the memory of the four spans, which the engine uses again afterwards.
  std::shared_ptr<const void> owner;
  StageTimes times;
  /// Not empty: why the tick failed, and what to do. The old lists stay valid, and the engine keeps
  /// the rows of the tick.
  std::string error;
  /// The device is lost: no later tick of this engine can finish.
  bool is_engine_lost = false;
};

}  // namespace starling
