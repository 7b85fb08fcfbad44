// SPDX-License-Identifier: Apache-2.0
// Formats rows into a large buffer and writes the buffer when it is full: see result_csv.hpp.
#include "starling/sim/replay/result_csv.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <unordered_map>

#include "starling/knn/base/time_text.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/text_append.hpp"

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
  collect_absent(lists);
  write(tick, tau_us, lists, Content::all);
}

void ResultCsv::write_changes(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists,
                              std::span<const protocol::ListKey> removed) {
  collect_removed(lists, removed);
  write(tick, tau_us, lists, Content::changes);
}

void ResultCsv::write_snapshot(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists) {
  collect_absent(lists);
  write(tick, tau_us, lists, Content::changes);
}

void ResultCsv::collect_absent(const protocol::ListStore& lists) {
  removed_.clear();
  for (const auto& [key, objects] : written_)
    if (!lists.contains(key)) removed_.push_back(key);
}

void ResultCsv::collect_removed(const protocol::ListStore& lists,
                                std::span<const protocol::ListKey> removed) {
  removed_.clear();
  std::unordered_map<QueryId, bool> queries;  // whether a list of the query was written
  const auto remove = [&](const protocol::ListKey& key) {
    if (!lists.contains(key)) removed_.push_back(key);
  };
  for (const protocol::ListKey& key : removed) {
    if (key.has_subject || written_.contains(key))
      remove(key);
    else
      queries[key.query] = false;
  }
  if (queries.empty()) return;
  for (const auto& [key, objects] : written_)
    if (const auto query = queries.find(key.query); query != queries.end()) {
      query->second = true;
      remove(key);
    }
  for (const auto& [query, has_lists] : queries)
    if (!has_lists) remove({.query = query});
  // If a tick removes a query and one of its subjects, removed_ has a key twice.
  std::ranges::sort(removed_);
  removed_.erase(std::ranges::unique(removed_).begin(), removed_.end());
}

void ResultCsv::write(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists,
                      Content content) {
  entries_.clear();
  for (const auto& [key, list] : lists) entries_.push_back(entry_of(key, &list));
  for (const protocol::ListKey& key : removed_) entries_.push_back(entry_of(key, nullptr));
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return std::tie(a.whose, a.subject, *a.key) < std::tie(b.whose, b.subject, *b.key);
  });
  if (columns_.iso_time) iso_time_ = ',' + iso_time_text(tau_us);
  std::string prefix;
  append_number(prefix, to_number(tick));
  prefix += ',';
  append_number(prefix, tau_us);
  prefix += ',';
  for (const Entry& entry : entries_) write_list(prefix, entry, content);
}

ResultCsv::SortedId ResultCsv::sorted_id(std::uint64_t id, const NameTable& names) {
  const auto known = names.texts().find(id);
  const bool is_text = known != names.texts().end() && !known->second.empty() &&
                       !protocol::is_decimal_id(known->second);
  return {is_text, is_text ? std::string_view(known->second) : std::string_view(), id};
}

ResultCsv::Entry ResultCsv::entry_of(const protocol::ListKey& key,
                                     const protocol::HeldList* list) const {
  if (shows_subject_as_query(key))
    return {sorted_id(to_number(key.subject), object_names_), {}, &key, list};
  return {sorted_id(to_number(key.query), query_names_),
          key.has_subject ? sorted_id(to_number(key.subject), object_names_) : SortedId(), &key,
          list};
}

void ResultCsv::write_list(std::string_view tick_prefix, const Entry& entry, Content content) {
  const protocol::ListKey& key = *entry.key;
  const protocol::HeldList* const list = entry.list;
  row_prefix_ = tick_prefix;
  append_id(row_prefix_, entry.whose.number,
            shows_subject_as_query(key) ? object_names_ : query_names_);
  row_prefix_ += ',';
  row_suffix_.clear();
  if (columns_.votes) row_suffix_ += ',';
  if (columns_.votes && list != nullptr && list->vote != no_label)
    append_number(row_suffix_, list->vote);
  if (columns_.means) row_suffix_ += ',';
  if (columns_.means && list != nullptr && list->mean) append_number(row_suffix_, *list->mean);
  if (columns_.subjects) row_suffix_ += ',';
  if (columns_.subjects && key.has_subject)
    append_id(row_suffix_, entry.subject.number, object_names_);
  row_suffix_ += iso_time_;
  std::vector<ObjectId> before;
  std::vector<ObjectId> now;
  if (columns_.changes) {
    if (const auto last = written_.find(key); last != written_.end())
      before = std::move(last->second);
    if (list != nullptr) now = sorted_objects(*list);
  }
  if (list == nullptr) {
    if (content == Content::changes) write_row_without_object("");
  } else if (list->neighbors.empty()) {
    write_row_without_object("0");
  } else {
    write_neighbors(*list, before);
  }
  write_left(before, now);
  if (list == nullptr)
    written_.erase(key);
  else if (content == Content::changes || columns_.changes)
    written_[key] = std::move(now);
  if (buffer_.size() >= buffer_bytes) write_buffer();
}

void ResultCsv::write_neighbors(const protocol::HeldList& list, std::span<const ObjectId> before) {
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
}

void ResultCsv::write_row_without_object(std::string_view rank) {
  buffer_.append(row_prefix_).append(rank).append(",,").append(row_suffix_);
  end_row(nullptr, "");
}

/// Writes a row for each object that has left the list.
void ResultCsv::write_left(std::span<const ObjectId> before, std::span<const ObjectId> now) {
  for (const ObjectId object : before) {
    if (std::ranges::binary_search(now, object)) continue;
    buffer_.append(row_prefix_).append(",");
    append_id(buffer_, to_number(object), object_names_);
    buffer_.append(",").append(row_suffix_);
    end_row(nullptr, "left");
  }
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
