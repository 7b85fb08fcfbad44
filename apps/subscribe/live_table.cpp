// SPDX-License-Identifier: Apache-2.0
// Renders the held lists as text that fits the screen and draws it on a Screen: see
// live_table.hpp. Called by apps/subscribe/subscribe.cpp.
#include "starling/apps/subscribe/live_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "starling/apps/shared/text/text_width.hpp"
#include "starling/apps/shared/text/time_line.hpp"
#include "starling/knn/base/plain_text.hpp"

namespace starling::apps {
namespace {

constexpr std::size_t head_rows = 4;

template <class... Values>
std::string format(const char* pattern, Values... values) {
  std::array<char, 256> text;
  const int length = std::snprintf(text.data(), text.size(), pattern, values...);
  return {text.data(), std::min(static_cast<std::size_t>(length), text.size() - 1)};
}

constexpr std::size_t id_columns = 20;  // longer names are cut; every number fits
constexpr std::size_t vote_columns = 20;
constexpr std::size_t mean_columns = 13;  // "-1.23457e-308"

// Pads to `columns` and adds a gap of two.
std::string cell(std::string_view text, std::size_t columns) {
  return padded(text, columns + 2);
}

std::string vote_text(Label vote) {
  return vote == no_label ? "-" : std::to_string(vote);
}

std::string mean_text(const std::optional<double>& mean) {
  return mean ? format("%.6g", *mean) : "-";
}

std::string name_of(std::uint64_t id, const sim::NameTable& names) {
  sim::NameTable::NumberText number;
  return std::string(cut(plain_text(names.text_of(id, number)), id_columns));
}

// Returns as many whole neighbours as fit into `columns`.
std::string neighbors_text(const protocol::HeldList& list, std::size_t columns,
                           const char* distance_pattern, const sim::NameTable& names) {
  constexpr std::string_view more = "...";
  std::string text;
  for (const protocol::HeldNeighbor& neighbor : list.neighbors) {
    const std::string entry =
        name_of(to_number(neighbor.object), names) + format(distance_pattern, neighbor.distance_m);
    if (columns_of(text) + columns_of(entry) + more.size() > columns) return text.append(more);
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

void append_line(std::string& text, const std::string& line, std::size_t columns) {
  text += cut(plain_text(line), columns);
  text += '\n';
}

std::string rate_text(const std::optional<double>& ticks_per_s) {
  return ticks_per_s ? format("%.1f ticks/s, ", *ticks_per_s) : "";
}

}  // namespace

std::string render_table(const TableStatus& status, const protocol::ListStore& lists,
                         const TableSize& size, const sim::NameTable& names) {
  using Count = unsigned long long;
  std::string text;
  append_line(
      text,
      status.stream +
          format("  tick %llu  %s", static_cast<Count>(to_number(status.at.tick)),
                 format_time(status.at.tau_us).c_str()) +
          (status.object_count ? format("  %llu objects", static_cast<Count>(*status.object_count))
                               : ""),
      size.columns);
  append_line(
      text,
      status.obstacle.empty()
          ? format("%zu lists, %llu reported by this tick, %s%llu ticks lost, %llu restarts",
                   lists.size(), static_cast<Count>(status.list_count_reported),
                   rate_text(status.ticks_per_s).c_str(),
                   static_cast<Count>(status.counters.ticks_lost),
                   static_cast<Count>(status.counters.restarts))
          : status.obstacle,
      size.columns);
  append_line(text, "", size.columns);
  const std::string vote_head = status.has_votes ? cell("vote", vote_columns) : "";
  const std::string mean_head = status.has_means ? cell("value", mean_columns) : "";
  const bool has_subjects =
      std::ranges::any_of(lists, [](const auto& entry) { return entry.first.has_subject; });
  const std::string subject_head = has_subjects ? cell("subject", id_columns) : "";
  append_line(text,
              cell("query", id_columns) + subject_head + vote_head + mean_head +
                  (status.is_vector ? "nearest first (distance)" : "nearest first (metres)"),
              size.columns);
  const std::size_t rows = size.rows > head_rows ? size.rows - head_rows : 0;
  const char* pattern = status.is_vector ? " (%.4g)  " : " (%.1f)  ";
  for (const auto* entry : smallest_keys(lists, rows)) {
    const protocol::ListKey& key = entry->first;
    std::string whose = cell(name_of(to_number(key.query), names), id_columns);
    if (has_subjects)
      whose += cell(key.has_subject ? name_of(to_number(key.subject), names) : "-", id_columns);
    if (status.has_votes) whose += cell(vote_text(entry->second.vote), vote_columns);
    if (status.has_means) whose += cell(mean_text(entry->second.mean), mean_columns);
    const std::size_t columns = size.columns - std::min(size.columns, columns_of(whose));
    append_line(text, whose + neighbors_text(entry->second, columns, pattern, names), size.columns);
  }
  return text;
}

std::vector<std::uint64_t> ids_in_table(const protocol::ListStore& lists, const TableSize& size) {
  constexpr std::size_t entry_columns_min = 9;  // "1 (0.0)  "
  std::vector<std::uint64_t> ids;
  for (const auto* entry : smallest_keys(lists, size.rows)) {
    ids.push_back(to_number(entry->first.query));
    if (entry->first.has_subject) ids.push_back(to_number(entry->first.subject));
    const auto& neighbors = entry->second.neighbors;
    const std::size_t count = std::min(neighbors.size(), size.columns / entry_columns_min);
    for (std::size_t rank = 0; rank < count; ++rank)
      ids.push_back(to_number(neighbors[rank].object));
  }
  return ids;
}

void LiveTable::draw(const TableStatus& status, const protocol::ListStore& lists,
                     const sim::NameTable& names) {
  due_ = std::chrono::steady_clock::now() + refresh_;
  screen_.draw(render_table(status, lists, size(), names));
}

}  // namespace starling::apps
