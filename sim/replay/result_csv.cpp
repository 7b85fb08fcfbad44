// SPDX-License-Identifier: Apache-2.0
// Formats rows into a large buffer and writes the buffer when it is full: see result_csv.hpp.
#include "starling/sim/replay/result_csv.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/files/text_append.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20;
constexpr std::string_view header = "tick,time_us,query_id,rank,object_id,distance_m";

}  // namespace

ResultCsv::ResultCsv(const std::string& path, const NameTable& query_names,
                     const NameTable& object_names, const ResultCsvColumns& columns,
                     TextOutput::Appears appears)
    : query_names_(query_names),
      object_names_(object_names),
      columns_(columns),
      output_(path, appears) {
  buffer_ = header;
  if (columns_.votes) buffer_ += ",vote";
  if (columns_.means) buffer_ += ",value";
  if (columns_.subjects) buffer_ += ",subject";
  buffer_ += '\n';
}

void ResultCsv::write_tick(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists) {
  entries_.clear();
  for (const auto& list : lists) entries_.push_back(entry_of(list));
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return std::tie(a.whose, a.subject, a.list->first) <
           std::tie(b.whose, b.subject, b.list->first);
  });
  std::string prefix;
  append_number(prefix, to_number(tick));
  prefix += ',';
  append_number(prefix, tau_us);
  prefix += ',';
  for (const Entry& entry : entries_) write_list(prefix, entry);
}

ResultCsv::SortedId ResultCsv::sorted_id(std::uint64_t id, const NameTable& names) {
  const auto known = names.texts().find(id);
  const bool is_text = known != names.texts().end() && !known->second.empty() &&
                       !protocol::is_decimal_id(known->second);
  return {is_text, is_text ? std::string_view(known->second) : std::string_view(), id};
}

ResultCsv::Entry ResultCsv::entry_of(const protocol::ListStore::value_type& list) const {
  const protocol::ListKey& key = list.first;
  if (shows_subject_as_query(key))
    return {sorted_id(to_number(key.subject), object_names_), {}, &list};
  return {sorted_id(to_number(key.query), query_names_),
          key.has_subject ? sorted_id(to_number(key.subject), object_names_) : SortedId(), &list};
}

void ResultCsv::write_list(std::string_view tick_prefix, const Entry& entry) {
  row_prefix_ = tick_prefix;
  const auto& [key, list] = *entry.list;
  append_id(row_prefix_, entry.whose.number,
            shows_subject_as_query(key) ? object_names_ : query_names_);
  row_prefix_ += ',';
  row_suffix_.clear();
  if (columns_.votes) row_suffix_ += ',';
  if (columns_.votes && list.vote != no_label) append_number(row_suffix_, list.vote);
  if (columns_.means) row_suffix_ += ',';
  if (columns_.means && list.mean) append_number(row_suffix_, *list.mean);
  if (columns_.subjects) row_suffix_ += ',';
  if (columns_.subjects && key.has_subject)
    append_id(row_suffix_, entry.subject.number, object_names_);
  row_suffix_ += '\n';
  if (columns_.empty_lists && list.neighbors.empty())
    buffer_.append(row_prefix_).append(",,").append(row_suffix_);
  std::uint32_t rank = 0;
  for (const protocol::HeldNeighbor& neighbor : list.neighbors) {
    buffer_ += row_prefix_;
    append_number(buffer_, ++rank);
    buffer_ += ',';
    append_id(buffer_, to_number(neighbor.object), object_names_);
    buffer_ += ',';
    if (columns_.is_vector)
      append_number(buffer_, neighbor.distance_m);
    else
      append_number(buffer_, neighbor.distance_m, std::chars_format::fixed, 3);
    buffer_ += row_suffix_;
  }
  if (buffer_.size() >= buffer_bytes) write_buffer();
}

void ResultCsv::append_id(std::string& text, std::uint64_t id, const NameTable& names) {
  NameTable::NumberText number;
  append_csv(text, names.text_of(id, number));
}

void ResultCsv::write_buffer() {
  output_.write(buffer_);
  buffer_.clear();
}

void ResultCsv::flush() {
  write_buffer();
  output_.flush();
}

void ResultCsv::close() {
  write_buffer();
  output_.close();
}

}  // namespace starling::sim
