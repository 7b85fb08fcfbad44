// Renders held lists as text that fits the screen, and draws it with ANSI escapes: see
// live_table.hpp. Called by apps/subscribe.cpp.
#include "apps/live_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

namespace starling::apps {
namespace {

constexpr std::size_t head_rows = 4;

template <class... Values>
std::string format(const char* pattern, Values... values) {
  std::array<char, 256> text;
  const int length = std::snprintf(text.data(), text.size(), pattern, values...);
  return {text.data(), std::min(static_cast<std::size_t>(length), text.size() - 1)};
}

std::string id_text(const protocol::ListKey& key) {
  return std::to_string(key.has_subject ? to_number(key.subject) : to_number(key.query));
}

// As many whole entries as fit.
std::string neighbors_text(const protocol::HeldList& list, std::size_t columns) {
  constexpr std::string_view more = "...";
  std::string text;
  for (const protocol::HeldNeighbor& neighbor : list.neighbors) {
    const std::string entry =
        format("%llu (%.1f)  ", static_cast<unsigned long long>(to_number(neighbor.object)),
               neighbor.distance_m);
    if (text.size() + entry.size() + more.size() > columns) return text.append(more);
    text += entry;
  }
  return text.empty() ? "-" : text;
}

std::vector<protocol::ListStore::const_pointer> smallest_keys(const protocol::ListStore& lists,
                                                              std::size_t count) {
  std::vector<protocol::ListStore::const_pointer> entries;
  entries.reserve(lists.size());
  for (const auto& entry : lists) entries.push_back(&entry);
  const auto by_key = [](auto a, auto b) { return a->first < b->first; };
  const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(std::min(count, lists.size()));
  std::partial_sort(entries.begin(), middle, entries.end(), by_key);
  entries.erase(middle, entries.end());
  return entries;
}

// Names and sentences come from elsewhere: nothing in them may steer the terminal.
void append_line(std::string& text, std::string line, std::size_t columns) {
  if (line.size() > columns) line.resize(columns);
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  text += line;
  text += '\n';
}

TableSize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return {};
  return {size.ws_row, size.ws_col};
}

}  // namespace

std::string format_time(std::int64_t time_us) {
  constexpr std::int64_t second_us = 1'000'000;
  constexpr std::int64_t year_us = 365 * 86'400 * second_us;
  if (time_us < year_us) return format("%.3f s", static_cast<double>(time_us) / second_us);
  const std::time_t seconds = time_us / second_us;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return format("%04d-%02d-%02d %02d:%02d:%02d.%03d UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                static_cast<int>(time_us % second_us / 1000));
}

std::string render_table(const TableStatus& status, const protocol::ListStore& lists,
                         const TableSize& size) {
  using Count = unsigned long long;
  std::string text;
  append_line(
      text,
      format("%s  tick %llu  %s  %llu objects", status.stream.c_str(),
             static_cast<Count>(to_number(status.at.tick)), format_time(status.at.tau_us).c_str(),
             static_cast<Count>(status.object_count)),
      size.columns);
  append_line(text,
              status.obstacle.empty()
                  ? format("%zu lists, %llu reported by this tick, %.1f ticks/s, %llu ticks lost, "
                           "%llu restarts",
                           lists.size(), static_cast<Count>(status.list_count_reported),
                           status.ticks_per_s, static_cast<Count>(status.counters.ticks_lost),
                           static_cast<Count>(status.counters.restarts))
                  : status.obstacle,
              size.columns);
  append_line(text, "", size.columns);
  append_line(text, "whose                 nearest first (metres)", size.columns);
  const std::size_t rows = size.rows > head_rows ? size.rows - head_rows : 0;
  for (const auto* entry : smallest_keys(lists, rows)) {
    const std::string whose = format("%-20s  ", id_text(entry->first).c_str());
    const std::size_t columns = size.columns - std::min(size.columns, whose.size());
    append_line(text, whose + neighbors_text(entry->second, columns), size.columns);
  }
  return text;
}

LiveTable::~LiveTable() {
  if (in_place_ && has_drawn_) out_ << "\x1b[?25h" << std::flush;
}

void LiveTable::draw(const TableStatus& status, const protocol::ListStore& lists) {
  due_ = std::chrono::steady_clock::now() + refresh_;
  if (!in_place_) {
    out_ << render_table(status, lists, {.rows = 12, .columns = 100}) << std::endl;
    return;
  }
  TableSize size = terminal_size();
  --size.rows;  // the cursor stands on the last one
  const std::string table = render_table(status, lists, size);
  // Cursor off and home; each line clears what was to its right, the last what was below.
  std::string frame = has_drawn_ ? "\x1b[H" : "\x1b[?25l\x1b[2J\x1b[H";
  for (const char c : table) {
    if (c == '\n') frame += "\x1b[K";
    frame += c;
  }
  out_ << frame << "\x1b[J" << std::flush;
  has_drawn_ = true;
}

}  // namespace starling::apps
