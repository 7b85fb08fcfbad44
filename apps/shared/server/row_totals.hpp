// SPDX-License-Identifier: Apache-2.0
// What became of rows that a command sent to a server: sums and reasons, and their text.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "starling/protocol/client/client.hpp"

namespace starling::apps {

/// What became of the rows. `reasons` says in words why rows were rejected, and how many for each
/// reason. The key is the short name of the reason, for --json.
struct RowTotals {
  struct Reason {
    std::string sentence;
    std::uint64_t count = 0;
  };
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;
  std::map<std::string, Reason> reasons{};

  /// Throws std::runtime_error if the server refused a whole batch.
  void add(const protocol::BatchTotals& totals);
  void add(const protocol::BatchReply& reply);
  void add_rejected(const std::string& name, const std::string& sentence, std::uint64_t count);
};

/// Prints one line and one for each reason, or one JSON object.
void print_totals(const RowTotals& totals, bool json, std::ostream& out);

}  // namespace starling::apps
