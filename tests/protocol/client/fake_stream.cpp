// SPDX-License-Identifier: Apache-2.0
// Changes random lists, and encodes their ticks and snapshots: see fake_stream.hpp.
#include "tests/protocol/client/fake_stream.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "tests/protocol/wire/samples.hpp"

namespace starling::protocol::test {
namespace {

constexpr ReportWith with_everything{.distance = true, .position = true, .tags = true};

std::int64_t tau_of(Tick tick) {
  return static_cast<std::int64_t>(to_number(tick)) * 100'000;
}

}  // namespace

ReceivedTick receive(const TickFrames& frames) {
  const auto owner = std::make_shared<TickFrames>(frames);
  std::vector<AlignedBytes> aligned;
  for (const Bytes& frame : *owner) aligned.emplace_back(frame);
  return receive_tick(std::move(aligned), owner);
}

FakeStream::FakeStream(std::uint64_t epoch, std::uint64_t seed) : epoch_(epoch), random_(seed) {
  truths_[Tick{0}] = {};
}

HeldAt FakeStream::now() const {
  return {epoch_,    finished_,       tau_of(finished_),
          sequence_, with_everything, runs_.empty() ? 0 : runs_[0].id};
}

void FakeStream::change_one(std::map<ListKey, ListEvent>& changed) {
  ListKey key{.query = QueryId{random_.below(8)}};
  const bool is_graph = to_number(key.query) < 3;
  if (is_graph && random_.chance(0.2)) return remove_query(key.query, changed);
  if (is_graph) {
    key.has_subject = true;
    key.subject = ObjectId{random_.below(3)};
  }
  if (random_.chance(0.2)) {
    if (lists_.erase(key) != 0) changed[key] = ListEvent::removed;
    return;
  }
  List list;
  const std::uint64_t count = random_.below(4);
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    list.neighbors.push_back({RankKey{random_.below(1'000'000)}, ObjectId{random_.next()}});
    list.states.push_back({{static_cast<std::int32_t>(random_.below(1000)), -5, 0},
                           static_cast<std::uint32_t>(random_.next())});
  }
  std::ranges::sort(list.neighbors);
  if (to_number(key.query) % 2 == 1)
    list.vote = random_.chance(0.2) ? no_label : static_cast<Label>(random_.below(5));
  if (to_number(key.query) % 3 == 1)
    list.mean = random_.chance(0.2) ? no_value : static_cast<double>(random_.below(1000)) / 8;
  lists_[key] = std::move(list);
  changed[key] = ListEvent::updated;
}

void FakeStream::remove_query(QueryId query, std::map<ListKey, ListEvent>& changed) {
  const auto is_its = [&](const auto& entry) { return entry.first.query == query; };
  if (std::erase_if(lists_, is_its) == 0) return;
  std::erase_if(changed, is_its);
  changed[{.query = query}] = ListEvent::removed;
}

TickFrames FakeStream::tick(bool failed) {
  tick_ = Tick{to_number(tick_) + 1};
  ++sequence_;
  std::map<ListKey, ListEvent> changed;
  const std::uint64_t change_count = failed ? 0 : random_.below(4);
  for (std::uint64_t change = 0; change < change_count; ++change) change_one(changed);
  if (!failed) {
    finished_ = tick_;
    truths_[tick_] = to_store();
  }
  std::vector<QueryReport> reports;
  for (const auto& [key, event] : changed) {
    QueryReport& report = reports.emplace_back();
    report.query = key.query;
    report.has_subject = key.has_subject;
    report.subject = key.subject;
    report.event = event;
    if (event == ListEvent::removed) continue;
    report.neighbors = lists_[key].neighbors;
    report.states = lists_[key].states;
    report.vote = lists_[key].vote;
    report.mean = lists_[key].mean;
  }
  TickHeader header{.epoch = epoch_,
                    .tick = tick_,
                    .tau_us = tau_of(tick_),
                    .sequence = sequence_,
                    .failed = failed};
  if (!runs_.empty()) header.at = {runs_[0], runs_.size() > 1 ? runs_[1].id : 0, to_number(tick_)};
  const TickMessage message =
      encode_tick("riders", header, {reports, with_everything, &lattice_, Metric::l2});
  TickFrames frames{copy_of(message.header)};
  for (const Frame& chunk : message.chunks) frames.push_back(copy_of(chunk));
  return frames;
}

std::vector<QueryReport> FakeStream::current_lists(
    const std::vector<std::uint64_t>& query_ids) const {
  std::vector<QueryReport> reports;
  for (const auto& [key, list] : lists_) {
    if (!query_ids.empty() && std::ranges::find(query_ids, to_number(key.query)) == query_ids.end())
      continue;
    reports.push_back({key.query, key.has_subject, key.subject, ListEvent::updated, list.neighbors,
                       list.states, list.vote, list.mean});
  }
  return reports;
}

SnapshotHead FakeStream::snapshot_head() const {
  return {.stream = "riders",
          .epoch = epoch_,
          .tick = finished_,
          .tau_us = tau_of(finished_),
          .sequence = sequence_,
          .runs = runs_,
          .place = to_number(tick_)};
}

Frame FakeStream::snapshot_reply(const ReplyHead& head) const {
  const auto reports = current_lists({});
  SnapshotHead page = snapshot_head();
  page.list_count = reports.size();
  return encode_snapshot_page(head, page, {reports, with_everything, &lattice_, Metric::l2});
}

std::vector<Bytes> FakeStream::snapshot(std::size_t lists_max,
                                        const std::vector<std::uint64_t>& query_ids) const {
  const auto reports = current_lists(query_ids);
  SnapshotHead head = snapshot_head();
  head.list_count = reports.size();
  std::vector<Bytes> pages;
  std::span<const QueryReport> rest = reports;
  do {
    const auto part = rest.first(std::min(rest.size(), lists_max));
    rest = rest.subspan(part.size());
    head.next_page = rest.empty() ? 0 : pages.size() + 1;
    pages.push_back(
        copy_of(encode_snapshot_page({}, head, {part, with_everything, &lattice_, Metric::l2})));
  } while (!rest.empty());
  return pages;
}

ListStore FakeStream::to_store() const {
  ListStore store;
  for (const auto& [key, list] : lists_) {
    HeldList& held = store[key];
    held.vote = list.vote.value_or(no_label);
    if (list.mean && !std::isnan(*list.mean)) held.mean = list.mean;
    for (const Neighbor& neighbor : list.neighbors)
      held.neighbors.push_back({neighbor.object, lattice_.to_metres(neighbor.key)});
    for (const NeighborState& state : list.states)
      held.states.push_back({lattice_.to_position(state.position), state.tags});
  }
  return store;
}

}  // namespace starling::protocol::test
