// SPDX-License-Identifier: Apache-2.0
// Writes CSV through sim::ResultCsv, as a replay does, and NDJSON: see tick_writers.hpp. Called by
// apps/subscribe/subscribe.cpp.
#include "starling/apps/subscribe/tick_writers.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/json_text.hpp"
#include "starling/sim/data/files/text_append.hpp"
#include "starling/sim/replay/result_csv.hpp"

namespace starling::apps {
namespace {

class CsvWriter final : public TickWriter {
 public:
  CsvWriter(const sim::NameTable& names, const std::vector<std::string>& with, bool exact)
      : names_(names) {
    sim::request(with, columns_);
    columns_.exact_distances = exact;
  }

  void write(const ShownTick& tick) override {
    if (!tick.header.with.distance)
      throw std::runtime_error(
          "this stream carries no distances, and CSV needs them; use --format ndjson");
    if (columns_.positions && !tick.header.with.position)
      throw std::runtime_error(
          "this stream carries no positions, and --with position needs them; leave it out, or put "
          "the stream with with_position");
    columns_.space = tick.header.space;
    read(tick);
    if (lists_.empty() && removed_.empty() && !csv_) return;
    const auto is_of_subject = [](const protocol::ListKey& key) { return key.has_subject; };
    const bool subjects =
        std::ranges::any_of(lists_, is_of_subject, &protocol::ListStore::value_type::first) ||
        std::ranges::any_of(removed_, is_of_subject);
    if (!csv_) open(tick, subjects);
    if (tick.has_votes && !columns_.votes)
      throw std::runtime_error(
          "a query of this stream votes now, but the first line of the CSV has no column for "
          "votes; start subscribe again");
    if (tick.has_means && !columns_.means)
      throw std::runtime_error(
          "a query of this stream asks for a mean now, but the first line of the CSV has no column "
          "for values; start subscribe again");
    if (subjects && !columns_.subjects)
      throw std::runtime_error(
          "a query of this stream now keeps a list for every object, but the first line of the CSV "
          "has no column for their subjects; start subscribe again");
    if (tick.is_whole)
      csv_->write_snapshot(tick.header.tick, tick.header.tau_us, lists_);
    else
      csv_->write_changes(tick.header.tick, tick.header.tau_us, lists_, removed_);
    csv_->flush();
  }

  void end() override {
    if (csv_) return;
    csv_.emplace("-", names_, names_, columns_);
    csv_->flush();
  }

 private:
  void open(const ShownTick& tick, bool subjects) {
    columns_.exact_distances = columns_.exact_distances || tick.header.space == Space::vector;
    columns_.votes = tick.has_votes;
    columns_.means = tick.has_means;
    columns_.subjects = subjects;
    csv_.emplace("-", names_, names_, columns_);
  }

  void read(const ShownTick& tick) {
    lists_.clear();
    removed_.clear();
    for (const ShownList& shown : tick.lists) {
      if (shown.event == ListEvent::removed) removed_.push_back(shown.key);
      if (shown.list != nullptr) lists_[shown.key] = *shown.list;
    }
  }

  const sim::NameTable& names_;
  sim::ResultCsvColumns columns_;
  std::optional<sim::ResultCsv> csv_;
  protocol::ListStore lists_;               ///< lists of the tick that is being written
  std::vector<protocol::ListKey> removed_;  ///< lists that this tick removed
};

class NdjsonWriter final : public TickWriter {
 public:
  NdjsonWriter(std::ostream& out, const sim::NameTable& names) : out_(out), names_(names) {}

  void write(const ShownTick& tick) override {
    if (tick.is_whole) {
      JsonText json = begin(tick.header, "whole");
      end_line(json.number("lists", tick.lists.size()));
    }
    for (const ShownList& shown : tick.lists) append_list(tick, shown);
    out_ << std::flush;
    if (!out_) throw std::runtime_error("the standard output cannot be written");
  }

 private:
  static JsonText begin(const protocol::TickHeader& header, std::string_view event) {
    JsonText json;
    json.begin_object().number("tick", to_number(header.tick)).number("time_us", header.tau_us);
    json.text("event", event);
    return json;
  }

  void end_line(JsonText& json) { out_ << json.end_object().take() << '\n'; }

  void append_id(JsonText& json, std::string_view field, std::string_view name_field,
                 std::uint64_t id) const {
    json.text(field, std::to_string(id));
    if (const auto name = names_.texts().find(id); name != names_.texts().end())
      json.text(name_field, sim::to_utf8(name->second));
  }

  void append_list(const ShownTick& tick, const ShownList& shown) {
    JsonText json = begin(tick.header, shown.event == ListEvent::removed ? "removed" : "updated");
    append_id(json, "query", "query_name", to_number(shown.key.query));
    if (shown.key.has_subject)
      append_id(json, "subject", "subject_name", to_number(shown.key.subject));
    if (shown.list != nullptr) append_content(json, tick, *shown.list);
    end_line(json);
  }

  void append_content(JsonText& json, const ShownTick& tick, const protocol::HeldList& list) const {
    if (tick.has_votes) {
      json.key("vote");
      list.vote == no_label ? json.null() : json.text(std::to_string(list.vote));
    }
    if (tick.has_means) {
      json.key("value");
      list.mean ? json.number(*list.mean) : json.null();
    }
    const ReportWith& with = tick.header.with;
    json.key("neighbors").begin_array();
    for (std::size_t i = 0; i < list.neighbors.size(); ++i) {
      json.begin_object();
      append_id(json, "object", "name", to_number(list.neighbors[i].object));
      if (with.distance) json.number("distance_m", list.neighbors[i].distance_m);
      if (!list.states.empty()) append_state(json, with, list.states[i]);
      json.end_object();
    }
    json.end_array();
  }

  static void append_state(JsonText& json, const ReportWith& with,
                           const protocol::HeldState& state) {
    if (with.position) {
      json.key("position").begin_array();
      for (const double coordinate : state.position) json.number(coordinate);
      json.end_array();
    }
    if (with.tags) json.number("tags", state.tags);
  }

  std::ostream& out_;
  const sim::NameTable& names_;
};

}  // namespace

std::vector<std::uint64_t> ids_in(const std::vector<ShownList>& lists) {
  std::vector<std::uint64_t> ids;
  for (const ShownList& shown : lists) {
    ids.push_back(to_number(shown.key.query));
    if (shown.key.has_subject) ids.push_back(to_number(shown.key.subject));
    if (shown.list == nullptr) continue;
    for (const protocol::HeldNeighbor& neighbor : shown.list->neighbors)
      ids.push_back(to_number(neighbor.object));
  }
  return ids;
}

std::unique_ptr<TickWriter> make_csv_writer(const sim::NameTable& names,
                                            const std::vector<std::string>& with, bool exact) {
  return std::make_unique<CsvWriter>(names, with, exact);
}

std::unique_ptr<TickWriter> make_ndjson_writer(std::ostream& out, const sim::NameTable& names) {
  return std::make_unique<NdjsonWriter>(out, names);
}

}  // namespace starling::apps
