// What an Engine delivers after a tick: the lists that their streams asked to hear of, by slot.
// Processor turns it into a TickReport.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// One list that its stream asked to hear of.
struct ReportedList {
  static constexpr std::uint64_t no_state = ~std::uint64_t{0};

  Slot query = no_slot;
  ListEvent event = ListEvent::updated;
  bool has_subject = false;  ///< an every-object list, keyed by query and subject
  ObjectId subject{};
  std::uint32_t count = 0;               ///< neighbours
  std::uint64_t first = 0;               ///< index into TickResult::neighbors
  std::uint64_t first_state = no_state;  ///< index into TickResult::states, if asked for
};

/// How long the parts of a tick took, by the host's clock or the device's.
struct StageTimes {
  double copy_in_ms = 0;  ///< copying staged rows to a device, and applying them there
  double build_ms = 0;    ///< building the index; on the CPU applying staged rows first
  double search_ms = 0;
  double diff_ms = 0;      ///< comparing with the last lists and collecting what is reported
  double copy_out_ms = 0;  ///< copying reports from a device
};

struct TickResult {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t objects = 0;            ///< alive in the snapshot
  std::span<const ReportedList> lists;  ///< by query slot; its removals, then its updates
  std::span<const Neighbor> neighbors;  ///< room between lists may hold anything
  std::span<const NeighborState> states;
  /// Empty, or one entry a list: its vote. Nothing where the query does not ask for a vote or the
  /// list is removed; no_label where none of the list's objects has a label.
  std::span<const std::optional<Label>> votes;
  /// Owns what the four spans show; the engine uses that memory again.
  std::shared_ptr<const void> owner;
  StageTimes times;
  /// Not empty: why the tick failed, and what helps. The old lists stand, its rows are kept.
  std::string error;
  /// No later tick of this engine can finish either: its device is lost.
  bool is_engine_lost = false;
};

}  // namespace starling
