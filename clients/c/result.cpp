// SPDX-License-Identifier: Apache-2.0
// Fills the arrays of lists: see result.hpp. Also implements the functions of starling.h that read
// a result.
#include "starling/clients/c/result.hpp"

#include <utility>

#include "starling/clients/c/structs.hpp"

namespace starling::c {

void ListArrays::reserve(std::size_t lists, std::size_t entries) {
  query_ids_.reserve(lists);
  subject_ids_.reserve(lists);
  has_subject_.reserve(lists);
  events_.reserve(lists);
  offsets_.reserve(lists + 1);
  object_ids_.reserve(entries);
  if (with_.distance) distances_.reserve(entries);
}

void ListArrays::set_unknown(std::span<const std::uint32_t> lists) {
  is_unknown_.assign(query_ids_.size(), 0);
  for (const std::uint32_t list : lists) is_unknown_[list] = 1;
}

void ListArrays::begin_list(const Head& head) {
  query_ids_.push_back(to_number(head.query));
  subject_ids_.push_back(to_number(head.subject));
  has_subject_.push_back(head.has_subject ? 1 : 0);
  events_.push_back(head.event == ListEvent::removed ? STARLING_LIST_REMOVED
                                                     : STARLING_LIST_UPDATED);
  offsets_.push_back(object_ids_.size());
  votes_.push_back(head.vote.value_or(no_label));
  means_.push_back(head.mean.value_or(no_value));
  has_votes_ = has_votes_ || head.vote.has_value();
  has_means_ = has_means_ || head.mean.has_value();
}

void ListArrays::add_entry(ObjectId object, double distance) {
  object_ids_.push_back(to_number(object));
  if (with_.distance) distances_.push_back(distance);
  offsets_.back() = object_ids_.size();
}

void ListArrays::add_state(const Position& position, std::uint32_t tags) {
  if (with_.position) positions_.insert(positions_.end(), position.begin(), position.end());
  if (with_.tags) tags_.push_back(tags);
}

void ListArrays::add(const protocol::ListKey& key, const protocol::HeldList& list) {
  Head head{.query = key.query, .has_subject = key.has_subject, .subject = key.subject};
  if (list.vote != no_label) head.vote = list.vote;
  head.mean = list.mean;
  begin_list(head);
  for (std::size_t i = 0; i < list.neighbors.size(); ++i) {
    add_entry(list.neighbors[i].object, list.neighbors[i].distance_m);
    if (i < list.states.size())
      add_state(list.states[i].position, list.states[i].tags);
    else
      add_state({}, 0);
  }
}

void ListArrays::add(const protocol::ListChunk& chunk,
                     const std::function<bool(const protocol::ListKey&)>& is_wanted) {
  for (std::size_t list = 0; list < chunk.list_count(); ++list) {
    const protocol::ListKey key = protocol::key_of(chunk, list);
    if (!is_wanted(key)) continue;
    Head head{.query = key.query,
              .has_subject = key.has_subject,
              .subject = key.subject,
              .event = chunk.event_of(list)};
    if (!chunk.votes.empty()) head.vote = chunk.vote_of(list);
    if (!chunk.means.empty()) head.mean = chunk.mean_of(list);
    begin_list(head);
    for (std::size_t i = chunk.offsets[list]; i < chunk.offsets[list + 1]; ++i) {
      add_entry(ObjectId{chunk.object_ids[i]}, with_.distance ? chunk.distances_m[i] : 0);
      add_state(with_.position ? Position{chunk.positions[3 * i], chunk.positions[3 * i + 1],
                                          chunk.positions[3 * i + 2]}
                               : Position{},
                with_.tags ? chunk.tags[i] : 0);
    }
  }
}

starling_lists ListArrays::view() const {
  return {.size = sizeof(starling_lists),
          .stream = stream_.c_str(),
          .is_last = is_last_ ? 1 : 0,
          .list_count = query_ids_.size(),
          .entry_count = object_ids_.size(),
          .query_ids = query_ids_.data(),
          .subject_ids = subject_ids_.data(),
          .has_subject = has_subject_.data(),
          .events = events_.data(),
          .offsets = offsets_.data(),
          .object_ids = object_ids_.data(),
          .distances = with_.distance ? distances_.data() : nullptr,
          .positions = with_.position ? positions_.data() : nullptr,
          .tags = with_.tags ? tags_.data() : nullptr,
          .votes = has_votes_ ? votes_.data() : nullptr,
          .means = has_means_ ? means_.data() : nullptr,
          .is_unknown = is_unknown_.empty() ? nullptr : is_unknown_.data()};
}

}  // namespace starling::c

using namespace starling;

starling_code starling_result_info(const starling_result* result, starling_tick_info* info) {
  return c::guard([&] {
    const c::Use<c::ResultHandle> use(result);
    starling_tick_info filled = use->info;
    filled.stream_count = use->streams.size();
    filled.warning = use->warning.c_str();
    c::write_struct(info, "info", filled);
  });
}

starling_code starling_result_lists(const starling_result* result, uint64_t index,
                                    starling_lists* lists) {
  return c::guard([&] {
    const c::Use<c::ResultHandle> use(result);
    if (index >= use->streams.size())
      c::fail(STARLING_INVALID_ARGUMENT, "index is " + std::to_string(index) +
                                             ", but the result has the lists of " +
                                             std::to_string(use->streams.size()) +
                                             " streams; starling_result_info says how many.");
    c::write_struct(lists, "lists", use->streams[index].view());
  });
}

starling_code starling_result_destroy(starling_result* result) {
  return c::destroy<c::ResultHandle>(result);
}
