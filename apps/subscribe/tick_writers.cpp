// SPDX-License-Identifier: Apache-2.0
// Writes CSV through sim::ResultCsv, as a replay does, and NDJSON: see tick_writers.hpp. Called by
// apps/subscribe/subscribe.cpp.
#include "starling/apps/subscribe/tick_writers.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/files/text_append.hpp"
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
  protocol::ListStore lists_;               ///< of the tick that is being written
  std::vector<protocol::ListKey> removed_;  ///< by that tick
};

class NdjsonWriter final : public TickWriter {
 public:
  NdjsonWriter(std::ostream& out, const sim::NameTable& names) : out_(out), names_(names) {}

  void write(const ShownTick& tick) override {
    line_.clear();
    if (tick.is_whole) {
      begin(tick.header, "whole");
      append(",\"lists\":");
      sim::append_number(line_, tick.lists.size());
      append("}\n");
    }
    for (const ShownList& shown : tick.lists) append_list(tick, shown);
    out_ << line_ << std::flush;
    if (!out_) throw std::runtime_error("the standard output cannot be written");
  }

 private:
  void append(std::string_view text) { line_ += text; }

  void append_id(std::string_view field, std::string_view name_field, std::uint64_t id) {
    append("\"");
    append(field);
    append("\":\"");
    sim::append_number(line_, id);
    append("\"");
    const auto name = names_.texts().find(id);
    if (name == names_.texts().end()) return;
    append(",\"");
    append(name_field);
    append("\":");
    sim::append_json(line_, name->second);
  }

  void begin(const protocol::TickHeader& header, std::string_view event) {
    append("{\"tick\":");
    sim::append_number(line_, to_number(header.tick));
    append(",\"time_us\":");
    sim::append_number(line_, header.tau_us);
    append(",\"event\":\"");
    append(event);
    append("\"");
  }

  void append_list(const ShownTick& tick, const ShownList& shown) {
    begin(tick.header, shown.event == ListEvent::removed ? "removed" : "updated");
    append(",");
    append_id("query", "query_name", to_number(shown.key.query));
    if (shown.key.has_subject) {
      append(",");
      append_id("subject", "subject_name", to_number(shown.key.subject));
    }
    if (shown.list != nullptr && tick.has_votes) append_vote(shown.list->vote);
    if (shown.list != nullptr && tick.has_means) append_mean(shown.list->mean);
    if (shown.list != nullptr) append_neighbors(tick.header.with, *shown.list);
    append("}\n");
  }

  void append_vote(Label vote) {
    append(",\"vote\":");
    if (vote == no_label) return append("null");
    append("\"");
    sim::append_number(line_, vote);
    append("\"");
  }

  void append_mean(const std::optional<double>& mean) {
    append(",\"value\":");
    if (!mean || !std::isfinite(*mean)) return append("null");
    sim::append_number(line_, *mean);
  }

  void append_neighbors(const ReportWith& with, const protocol::HeldList& list) {
    append(",\"neighbors\":[");
    for (std::size_t i = 0; i < list.neighbors.size(); ++i) {
      append(i == 0 ? "{" : ",{");
      append_id("object", "name", to_number(list.neighbors[i].object));
      if (with.distance) {
        append(",\"distance_m\":");
        sim::append_number(line_, list.neighbors[i].distance_m);
      }
      if (!list.states.empty()) append_state(with, list.states[i]);
      append("}");
    }
    append("]");
  }

  void append_state(const ReportWith& with, const protocol::HeldState& state) {
    if (with.position) {
      append(",\"position\":[");
      for (std::size_t axis = 0; axis < state.position.size(); ++axis) {
        if (axis > 0) append(",");
        sim::append_number(line_, state.position[axis]);
      }
      append("]");
    }
    if (with.tags) {
      append(",\"tags\":");
      sim::append_number(line_, state.tags);
    }
  }

  std::ostream& out_;
  const sim::NameTable& names_;
  std::string line_;
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
