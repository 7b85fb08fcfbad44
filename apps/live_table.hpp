// The table of `starling subscribe`: what is held right now, drawn in place on a terminal and as a
// frame now and then elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include "protocol/subscription.hpp"

namespace starling::apps {

/// What the table's head says.
struct TableStatus {
  std::string stream;
  protocol::HeldAt at;
  std::uint64_t object_count = 0;
  std::uint64_t list_count_reported = 0;  ///< by the last tick
  double ticks_per_s = 0;
  protocol::SubscriptionCounters counters;
  std::string obstacle;  ///< why nothing comes, or empty
};

struct TableSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

/// At most `size` large, without control characters. The lists of the smallest keys are shown.
std::string render_table(const TableStatus& status, const protocol::ListStore& lists,
                         const TableSize& size);

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
  void draw(const TableStatus& status, const protocol::ListStore& lists);

 private:
  std::ostream& out_;
  bool in_place_;
  bool has_drawn_ = false;
  std::chrono::milliseconds refresh_;
  std::chrono::steady_clock::time_point due_;
};

}  // namespace starling::apps
