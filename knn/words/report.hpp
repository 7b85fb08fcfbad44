// What a stream hears of a list after a tick. Processor makes QueryReports, the wire encodes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "starling/knn/words/types.hpp"

namespace starling {

enum class ListEvent : std::uint8_t {
  updated,  ///< the whole new list follows
  removed,  ///< the query with all its lists is gone, or (has_subject) one subject's list
};

/// One list of a tick, in the words of its stream. Spans live as long as the TickReport.
struct QueryReport {
  QueryId query{};
  bool has_subject = false;  ///< from an every-object query: the list of object `subject`
  ObjectId subject{};
  ListEvent event = ListEvent::updated;
  std::span<const Neighbor> neighbors;
  std::span<const NeighborState> states;  ///< empty unless the stream asked for position or tags
  /// If the query asks for a vote: the label that the list votes for, no_label if no object in it
  /// has a label.
  std::optional<Label> vote{};
};

}  // namespace starling
