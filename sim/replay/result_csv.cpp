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
constexpr std::string_view csv_header = "tick,time_us,query_id,rank,object_id,distance_m";

std::string_view position_header(Space space) {
  if (space == Space::wgs84) return ",lon,lat,alt";
  return space == Space::planar3 ? ",x,y,z" : ",x,y";
}

std::vector<ObjectId> sorted_objects(const protocol::HeldList& list) {
  std::vector<ObjectId> objects;
  objects.reserve(list.neighbors.size());
  for (const protocol::HeldNeighbor& neighbor : list.neighbors) objects.push_back(neighbor.object);
  std::ranges::sort(objects);
  return objects;
}

}  // namespace

void request(std::span<const std::string> names, ResultCsvColumns& columns) {
  for (const std::string& name : names) {
    if (name == "time") columns.iso_time = true;
    if (name == "position") columns.positions = true;
    if (name == "change") columns.changes = true;
  }
}

ResultCsv::ResultCsv(const std::string& path, const NameTable& query_names,
                     const NameTable& object_names, const ResultCsvColumns& columns,
                     TextOutput::Appears appears)
    : query_names_(query_names),
      object_names_(object_names),
      columns_(columns),
      output_(path, appears) {
  buffer_ = csv_header;
  if (columns_.votes) buffer_ += ",vote";
  if (columns_.means) buffer_ += ",value";
  if (columns_.subjects) buffer_ += ",subject";
  if (columns_.iso_time) buffer_ += ",time";
  if (columns_.positions) buffer_ += position_header(columns_.space);
  if (columns_.changes) buffer_ += ",change";
  buffer_ += '\n';
}

void ResultCsv::write_tick(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists) {
  entries_.clear();
  for (const auto& list : lists) entries_.push_back(entry_of(list));
  if (columns_.changes && columns_.absent_is_gone) add_gone(lists);
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return std::tie(a.whose, a.subject, a.list->first) <
           std::tie(b.whose, b.subject, b.list->first);
  });
  if (columns_.iso_time) {
    iso_time_ = ',';
    append_iso_time(iso_time_, tau_us);
  }
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
  row_suffix_ += iso_time_;
  if (columns_.empty_lists && list.neighbors.empty()) {
    buffer_.append(row_prefix_).append(",,").append(row_suffix_);
    end_row(nullptr, "");
  }
  std::vector<ObjectId> before;
  std::vector<ObjectId> now;
  if (columns_.changes) {
    if (const auto last = written_.find(key); last != written_.end())
      before = std::move(last->second);
    now = sorted_objects(list);
  }
  std::uint32_t rank = 0;
  for (const protocol::HeldNeighbor& neighbor : list.neighbors) {
    buffer_ += row_prefix_;
    append_number(buffer_, ++rank);
    buffer_ += ',';
    append_id(buffer_, to_number(neighbor.object), object_names_);
    buffer_ += ',';
    if (columns_.exact_distances)
      append_number(buffer_, neighbor.distance_m);
    else
      append_number(buffer_, neighbor.distance_m, std::chars_format::fixed, 3);
    buffer_ += row_suffix_;
    const bool has_state = rank <= list.states.size();
    end_row(has_state ? &list.states[rank - 1].position : nullptr,
            std::ranges::binary_search(before, neighbor.object) ? "stayed" : "entered");
  }
  if (columns_.changes) write_left(key, before, std::move(now));
  if (buffer_.size() >= buffer_bytes) write_buffer();
}

void ResultCsv::write_left(const protocol::ListKey& key, std::span<const ObjectId> before,
                           std::vector<ObjectId> now) {
  for (const ObjectId object : before) {
    if (std::ranges::binary_search(now, object)) continue;
    buffer_.append(row_prefix_).append(",");
    append_id(buffer_, to_number(object), object_names_);
    buffer_.append(",").append(row_suffix_);
    end_row(nullptr, "left");
  }
  if (now.empty())
    written_.erase(key);
  else
    written_[key] = std::move(now);
}

void ResultCsv::end_row(const Position* position, const char* change) {
  if (columns_.positions) {
    const std::size_t axes = columns_.space == Space::planar2 ? 2 : 3;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      buffer_ += ',';
      if (position != nullptr) append_number(buffer_, (*position)[axis]);
    }
  }
  if (columns_.changes) buffer_.append(",").append(change);
  buffer_ += '\n';
}

void ResultCsv::add_gone(const protocol::ListStore& lists) {
  gone_.clear();
  for (const auto& [key, objects] : written_)
    if (!lists.contains(key)) gone_[key];
  for (const auto& list : gone_) entries_.push_back(entry_of(list));
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
