// The table of `starling subscribe`: what is held right now, drawn in place on a terminal and as a
// frame now and then elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/client/subscription.hpp"
#include "sim/traces/name_table.hpp"

namespace starling::apps {

/// What the table's head says.
struct TableStatus {
  std::string stream;
  protocol::HeldAt at;
  std::optional<std::uint64_t> object_count;  ///< none: no tick has come yet, only a snapshot
  std::uint64_t list_count_reported = 0;      ///< by the last tick
  double ticks_per_s = 0;
  protocol::SubscriptionCounters counters;
  std::string obstacle;    ///< why nothing comes, or empty
  bool is_vector = false;  ///< distances are no metres
  bool has_votes = false;  ///< a column more, as for lists that have subjects
};

struct TableSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

/// At most `size` large, without control characters. The lists of the smallest keys are shown; ids
/// with a name in `names` as that, cut where it is long.
std::string render_table(const TableStatus& status, const protocol::ListStore& lists,
                         const TableSize& size, const sim::NameTable& names = {});

/// The ids that a table of this size shows, and perhaps some more.
std::vector<std::uint64_t> ids_in_table(const protocol::ListStore& lists, const TableSize& size);

/// "125.000 s" below a year, else UTC.
std::string format_time(std::int64_t time_us);

/// Draws no more often than every `refresh`, on a terminal in place. `out` must outlive it.
class LiveTable {
 public:
  LiveTable(std::ostream& out, bool in_place, std::chrono::milliseconds refresh)
      : out_(out), in_place_(in_place), refresh_(refresh) {}
  /// Leaves the last table standing and shows the cursor again.
  ~LiveTable();
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  bool is_due() const { return std::chrono::steady_clock::now() >= due_; }
  /// Of the next frame.
  TableSize size() const;
  void draw(const TableStatus& status, const protocol::ListStore& lists,
            const sim::NameTable& names = {});

 private:
  std::ostream& out_;
  bool in_place_;
  bool has_drawn_ = false;
  std::chrono::milliseconds refresh_;
  std::chrono::steady_clock::time_point due_;
};

}  // namespace starling::apps
