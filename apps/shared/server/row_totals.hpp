// SPDX-License-Identifier: Apache-2.0
// Adds up the server's replies to the rows that a command sent, and prints the sums and the reasons
// of rejections.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "starling/protocol/client/client.hpp"

namespace starling::apps {

/// `reasons` has a sentence and a number of rows for each reason of rejection. Its key is the
/// reason's short name, for --json.
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

/// Prints a line with the sums and a line for each reason, or one JSON object if `json` is set.
void print_totals(const RowTotals& totals, bool json, std::ostream& out);

}  // namespace starling::apps
