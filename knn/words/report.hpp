// SPDX-License-Identifier: Apache-2.0
// A QueryReport says what a stream reports about one list after a tick. Processor makes
// QueryReports, and protocol/wire encodes them.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "starling/knn/words/types.hpp"

namespace starling {

enum class ListEvent : std::uint8_t {
  updated,  ///< the report has the whole new list
  removed,  ///< the query and all its lists are gone; if has_subject: only this list is gone
};

/// What a list predicts for its query. A member is std::nullopt if the query does not ask for it.
struct Prediction {
  std::optional<Label> vote{};   ///< no_label if no object of the list has a label
  std::optional<double> mean{};  ///< no_value if no object of the list has a value

  /// Compares the bits of the means, so that no_value equals itself.
  bool operator==(const Prediction& other) const {
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    return vote == other.vote && mean.has_value() == other.mean.has_value() &&
           (!mean || bits(*mean) == bits(*other.mean));
  }
};

/// One list of a tick, as its stream reports it. The spans live as long as the TickReport.
struct QueryReport {
  QueryId query{};
  bool has_subject = false;  ///< this is the list of `subject` in an every-object query
  ObjectId subject{};
  ListEvent event = ListEvent::updated;
  std::span<const Neighbor> neighbors;
  std::span<const NeighborState> states;  ///< empty unless the stream asked for position or tags
  /// If the query asks for a vote: the label that the list votes for, or no_label if no object in
  /// the list has a label.
  std::optional<Label> vote{};
  /// If the query asks for a mean: the mean of the values of the list's objects, or no_value if no
  /// object in the list has a value.
  std::optional<double> mean{};
};
// Processor assigns reports to elements that were not initialized.
static_assert(std::is_trivially_copyable_v<QueryReport>);

}  // namespace starling
