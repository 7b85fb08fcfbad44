// SPDX-License-Identifier: Apache-2.0
// Lays the view out: see view_text.hpp.
#include "starling/apps/top/view_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <vector>

#include "starling/apps/shared/text/text_table.hpp"
#include "starling/apps/shared/text/text_width.hpp"
#include "starling/knn/base/json_text.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::apps {
namespace {

/// Returns the nearest whole number. A faulty server's counter may be any number, or none.
std::uint64_t whole(double number) {
  constexpr double largest = 9e18;
  return number > 0 ? static_cast<std::uint64_t>(std::min(number, largest)) : 0;
}

std::string count_text(double count) {
  return std::to_string(whole(count));
}

std::string with_decimals(double number, const char* pattern) {
  if (std::isnan(number)) return "-";
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), pattern, number);
  return text.data();
}

/// Returns a number that fits a column: 12.3, 12.3k, 12.3M.
std::string rate_of(double per_s) {
  if (per_s >= 999'950) return with_decimals(per_s / 1e6, "%.1fM");
  if (per_s >= 9'999.5) return with_decimals(per_s / 1e3, "%.1fk");
  return with_decimals(per_s, "%.1f");
}

std::string list_of_counts(const std::vector<Counted>& counts) {
  std::string text;
  for (const Counted& each : counts)
    text += (text.empty() ? "" : ", ") + count_text(each.total) + " " + each.name;
  return text;
}

class Lines {
 public:
  Lines(const TableSize& size, bool colors) : size_(size), colors_(colors) {}

  void add(const std::string& line, bool is_marked = false) {
    if (count_++ >= size_.rows) return;
    const std::string shown(cut((is_marked ? "! " : "  ") + plain_text(line), size_.columns));
    text_ += is_marked && colors_ ? "\x1b[1;31m" + shown + "\x1b[0m\n" : shown + "\n";
  }
  std::size_t left() const { return size_.rows - std::min(size_.rows, count_); }
  std::string text() && { return std::move(text_); }

 private:
  TableSize size_;
  bool colors_;
  std::size_t count_ = 0;
  std::string text_;
};

std::string stages_text(const std::vector<Stage>& stages) {
  std::string text;
  for (const Stage& stage : stages)
    text += (text.empty() ? "" : "  ") + stage.name + " " + with_decimals(stage.ms, "%.3g");
  return text;
}

void append_counted(JsonText& json, std::string_view name, const Counted& counted) {
  json.key(name).begin_object().number("total", counted.total).number("per_s", counted.per_s);
  json.end_object();
}

void append_counts(JsonText& json, std::string_view name, const std::vector<Counted>& counts) {
  json.key(name).begin_object();
  for (const Counted& each : counts) append_counted(json, each.name, each);
  json.end_object();
}

}  // namespace

std::string view_text(const ViewHead& head, const ServerView& view, const TableSize& size,
                      bool colors) {
  Lines lines(size, colors);
  lines.add(head.server + " at " + head.endpoint + ", " + head.space);
  if (!head.obstacle.empty()) lines.add(head.obstacle, true);
  if (view.is_restarted) lines.add("the server was restarted", true);
  if (view.log_full_s > 0) {
    lines.add("the log has had no room for " + with_decimals(view.log_full_s, "%.0f") +
                  " s: changes are refused, and no tick begins",
              true);
    lines.add("free space on the disk of the server's --journal: " +
                  bytes_text(whole(view.log_free_bytes)) + " are free",
              true);
  }
  lines.add(count_text(view.objects) + " objects, " + count_text(view.queries) + " queries, " +
            count_text(view.streams) + " streams, " + count_text(view.sessions) + " sessions");
  lines.add("");
  lines.add("ticks/s   " + rate_of(view.ticks.per_s) + ", " + count_text(view.skipped.total) +
                " skipped, " + count_text(view.failed.total) + " failed so far",
            view.skipped.per_s > 0 || view.failed.per_s > 0);
  lines.add("stages    " + stages_text(view.stages) + "  (mean ms of a tick)");
  lines.add("rows/s    " + rate_of(view.accepted.per_s) + " accepted, " + rate_of(view.late.per_s) +
            " late, " + rate_of(view.rejected.per_s) + " rejected");
  lines.add("so far    " + count_text(view.accepted.total) + " accepted, " +
            count_text(view.late.total) + " late, " + count_text(view.rejected.total) +
            " rejected");
  if (!view.reasons.empty())
    lines.add("rejected  " + list_of_counts(view.reasons), view.rejected.per_s > 0);
  if (!view.refused.empty())
    lines.add("refused   " + list_of_counts(view.refused) + " (requests)",
              std::ranges::any_of(view.refused, [](const Counted& c) { return c.per_s > 0; }));
  lines.add("sent      " + rate_of(view.published_bytes.per_s) + " bytes/s of ticks to " +
            count_text(view.subscriptions) + " subscriptions");
  lines.add("slow      " + count_text(view.lost_ticks.total) + " ticks lost by subscribers, " +
                count_text(view.replies_dropped.total) + " replies dropped, " +
                count_text(view.connections_refused.total) + " connections refused so far",
            view.lost_ticks.per_s > 0 || view.replies_dropped.per_s > 0 ||
                view.connections_refused.per_s > 0);
  lines.add("");

  using Align = TextTable::Align;
  TextTable table({{"limit"}, {"used", Align::right}, {"of", Align::right}, {"%", Align::right}});
  for (const Level& level : view.levels)
    table.add_row({level.name, count_text(level.used), count_text(level.limit),
                   with_decimals(100 * level.ratio(), "%.1f")});
  std::istringstream rows(table.str());
  std::string row;
  std::getline(rows, row);
  lines.add(row);
  for (const Level& level : view.levels) {
    if (!std::getline(rows, row) || lines.left() == 0) break;
    lines.add(row, level.is_nearly_reached());
  }
  return std::move(lines).text();
}

std::string view_json(const ViewHead& head, const ServerView& view) {
  JsonText json;
  json.begin_object().text("server", sim::to_utf8(head.server));
  json.text("endpoint", sim::to_utf8(head.endpoint)).text("space", head.space);
  json.number("interval_s", view.interval_s).boolean("restarted", view.is_restarted);
  json.number("log_full_s", view.log_full_s).number("log_free_bytes", view.log_free_bytes);
  json.number("objects", view.objects).number("queries", view.queries);
  json.number("streams", view.streams).number("sessions", view.sessions);
  json.number("subscriptions", view.subscriptions);
  append_counted(json, "ticks", view.ticks);
  append_counted(json, "ticks_skipped", view.skipped);
  append_counted(json, "ticks_failed", view.failed);
  json.key("stages_ms").begin_object();
  for (const Stage& stage : view.stages) json.number(stage.name, stage.ms);
  json.end_object();
  append_counted(json, "accepted", view.accepted);
  append_counted(json, "late", view.late);
  append_counted(json, "rejected", view.rejected);
  append_counts(json, "reasons", view.reasons);
  append_counts(json, "refused_requests", view.refused);
  append_counted(json, "published_bytes", view.published_bytes);
  append_counted(json, "subscriber_lost_ticks", view.lost_ticks);
  append_counted(json, "replies_dropped", view.replies_dropped);
  append_counted(json, "connections_refused", view.connections_refused);
  json.key("limits").begin_object();
  for (const Level& level : view.levels) {
    json.key(level.name).begin_object().number("used", level.used).number("limit", level.limit);
    json.boolean("nearly_reached", level.is_nearly_reached()).end_object();
  }
  return json.end_object().end_object().take();
}

}  // namespace starling::apps
