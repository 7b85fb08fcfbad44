// SPDX-License-Identifier: Apache-2.0
// The table of `starling subscribe`: the lists that the subscription holds now. On a terminal, each
// table replaces the last one. Any other output gets a new table from time to time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "starling/apps/shared/text/screen.hpp"
#include "starling/protocol/client/subscription.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::apps {

/// The content of the table's head.
struct TableStatus {
  std::string stream;
  protocol::HeldAt at;
  std::optional<std::uint64_t> object_count;  ///< std::nullopt: no tick yet, only a snapshot
  std::uint64_t list_count_reported = 0;      ///< number of lists that the last tick reported
  std::optional<double> ticks_per_s;          ///< std::nullopt: not measured yet
  protocol::SubscriptionCounters counters;
  std::string obstacle;    ///< why no tick comes; empty if ticks come
  bool is_vector = false;  ///< true: a vector space, whose distances are not in metres
  bool has_votes = false;  ///< true: the table has a column for votes
  bool has_means = false;  ///< true: the table has a column for means
};

/// Returns a table of at most `size` rows and columns, without control characters. The table shows
/// the lists with the smallest keys. If `names` has a name for an id, the table shows the name, cut
/// if it is long.
std::string render_table(const TableStatus& status, const protocol::ListStore& lists,
                         const TableSize& size, const sim::NameTable& names = {});

/// Returns the ids that a table of this size shows, and possibly a few more.
std::vector<std::uint64_t> ids_in_table(const protocol::ListStore& lists, const TableSize& size);

/// Draws the table on a screen. After each draw(), is_due() is false for the time `refresh`.
class LiveTable {
 public:
  LiveTable(std::ostream& out, bool in_place, std::chrono::milliseconds refresh)
      : screen_(out, in_place), refresh_(refresh) {}

  bool is_due() const { return std::chrono::steady_clock::now() >= due_; }
  /// Returns the size of the next table.
  TableSize size() const { return screen_.size(); }
  void draw(const TableStatus& status, const protocol::ListStore& lists,
            const sim::NameTable& names = {});

 private:
  Screen screen_;
  std::chrono::milliseconds refresh_;
  std::chrono::steady_clock::time_point due_;
};

}  // namespace starling::apps
