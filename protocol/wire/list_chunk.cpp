// SPDX-License-Identifier: Apache-2.0
// Encodes neighbour lists as arrays, and decodes them: see list_chunk.hpp.
#include "starling/protocol/wire/list_chunk.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "starling/protocol/wire/wire.hpp"

namespace starling::protocol {
namespace {

// An upper bound of the bytes of the table, its vtable, and the lengths and padding of eleven
// arrays.
constexpr std::size_t chunk_overhead_bytes = 512;
constexpr std::size_t list_bytes = 8 + 8 + 1 + 1 + 4 + 8 + 8;

std::size_t neighbor_bytes(const ReportWith& with) {
  return 8u + (with.distance ? 8u : 0u) + (with.position ? 24u : 0u) + (with.tags ? 4u : 0u);
}

std::size_t report_bytes(const QueryReport& report, const ReportWith& with) {
  return list_bytes + report.neighbors.size() * neighbor_bytes(with);
}

double distance_of(const ListSource& source, const Neighbor& neighbor) {
  if (source.lattice != nullptr) return source.lattice->to_metres(neighbor.key);
  const auto ordered = static_cast<std::uint32_t>(to_number(neighbor.key));
  return starling::distance_of(source.metric, score_of_ordered(ordered));
}

/// Adds an array of `count` elements. `fill` gets a pointer to the first element and writes all
/// elements.
template <class T, class Fill>
flatbuffers::Offset<flatbuffers::Vector<T>> fill_array(flatbuffers::FlatBufferBuilder& builder,
                                                       std::size_t count, const Fill& fill) {
  T* next = nullptr;
  const auto offset = builder.CreateUninitializedVector<T>(count, &next);
  fill(next);
  return offset;
}

std::optional<Problem> check_lengths(const ListChunk& lists) {
  const auto is_one_per = [](std::size_t size, std::size_t count) {
    return size == 0 || size == count;
  };
  const std::size_t list_count = lists.query_ids.size();
  const std::size_t neighbor_count = lists.object_ids.size();
  if (lists.offsets.size() != list_count + 1)
    return malformed("A chunk of " + std::to_string(list_count) + " lists has " +
                     std::to_string(lists.offsets.size()) +
                     " offsets; it needs one more than lists.");
  if (!is_one_per(lists.subject_ids.size(), list_count) ||
      lists.has_subject.size() != lists.subject_ids.size() ||
      !is_one_per(lists.events.size(), list_count) || !is_one_per(lists.votes.size(), list_count) ||
      !is_one_per(lists.means.size(), list_count))
    return malformed("A chunk does not have one subject, event, vote or mean for each list.");
  if (!is_one_per(lists.distances_m.size(), neighbor_count) ||
      !is_one_per(lists.tags.size(), neighbor_count) ||
      !is_one_per(lists.positions.size(), 3 * neighbor_count))
    return malformed(
        "A chunk does not have one distance, position or set of tags for each neighbour.");
  if (lists.offsets.front() != 0 || lists.offsets.back() != neighbor_count ||
      !std::ranges::is_sorted(lists.offsets))
    return malformed("A chunk's offsets do not rise from 0 to its number of neighbours.");
  const auto is_event = [](std::uint8_t event) {
    return event <= static_cast<std::uint8_t>(ListEvent::removed);
  };
  if (!std::ranges::all_of(lists.events, is_event))
    return malformed("A chunk holds an event that is neither updated nor removed.");
  return std::nullopt;
}

/// Distances must be numbers, the nearest first. The loop has no branch, so that it costs little
/// beside the copy of the list.
bool are_ranked(std::span<const double> distances_m) {
  bool are = distances_m.empty() || !std::isnan(distances_m.front());
  for (std::size_t rank = 1; rank < distances_m.size(); ++rank)
    are &= distances_m[rank - 1] <= distances_m[rank];
  return are;
}

std::optional<Problem> check_neighbors(const ListChunk& lists) {
  for (std::size_t list = 0; list < lists.list_count(); ++list) {
    const std::size_t count = lists.neighbor_count(list);
    if (count > vector_k_max)
      return malformed("A list has " + std::to_string(count) + " neighbours; at most " +
                       std::to_string(vector_k_max) + " are possible.");
    if (!lists.distances_m.empty() &&
        !are_ranked(lists.distances_m.subspan(lists.offsets[list], count)))
      return malformed("The distances of a list are not numbers in ascending order.");
    const auto ids = lists.object_ids.subspan(lists.offsets[list], count);
    if (std::ranges::adjacent_find(ids) != ids.end())
      return malformed("A list has an object twice.");
  }
  if (!std::ranges::all_of(lists.positions, [](double number) { return std::isfinite(number); }))
    return malformed("A position of a neighbour is not a number.");
  return std::nullopt;
}

}  // namespace

std::size_t lists_that_fit(std::span<const QueryReport> reports, const ReportWith& with,
                           std::size_t bytes_max) {
  std::size_t bytes = chunk_overhead_bytes;
  std::size_t count = 0;
  for (const QueryReport& report : reports) {
    bytes += report_bytes(report, with);
    if (bytes > bytes_max && count > 0) break;
    ++count;
  }
  return count;
}

ReportWith carried_columns(const ListSource& source) {
  const bool has_states = std::ranges::all_of(source.reports, [](const QueryReport& report) {
    return report.states.size() == report.neighbors.size();
  });
  return {.distance = source.with.distance,
          .position = source.with.position && has_states,
          .tags = source.with.tags && has_states};
}

std::size_t chunk_bytes(const ListSource& source) {
  std::size_t bytes = chunk_overhead_bytes;
  for (const QueryReport& report : source.reports) bytes += report_bytes(report, source.with);
  return bytes;
}

flatbuffers::Offset<wire::ListChunk> add_lists(flatbuffers::FlatBufferBuilder& builder,
                                               const ListSource& source) {
  const auto& reports = source.reports;
  std::size_t neighbors = 0;
  bool any_subject = false;
  bool any_removed = false;
  bool any_vote = false;
  bool any_mean = false;
  for (const QueryReport& report : reports) {
    neighbors += report.neighbors.size();
    any_subject |= report.has_subject;
    any_removed |= report.event == ListEvent::removed;
    any_vote |= report.vote.has_value();
    any_mean |= report.mean.has_value();
  }
  const ReportWith with = carried_columns(source);

  const auto query_ids = fill_array<std::uint64_t>(builder, reports.size(), [&](auto* next) {
    for (const QueryReport& report : reports) *next++ = to_number(report.query);
  });
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> has_subject, events;
  flatbuffers::Offset<flatbuffers::Vector<std::uint64_t>> subject_ids;
  if (any_subject) {
    has_subject = fill_array<std::uint8_t>(builder, reports.size(), [&](auto* next) {
      for (const QueryReport& report : reports) *next++ = report.has_subject ? 1 : 0;
    });
    subject_ids = fill_array<std::uint64_t>(builder, reports.size(), [&](auto* next) {
      for (const QueryReport& report : reports) *next++ = to_number(report.subject);
    });
  }
  if (any_removed)
    events = fill_array<std::uint8_t>(builder, reports.size(), [&](auto* next) {
      for (const QueryReport& report : reports) *next++ = static_cast<std::uint8_t>(report.event);
    });
  const auto offsets = fill_array<std::uint32_t>(builder, reports.size() + 1, [&](auto* next) {
    std::uint32_t end = 0;
    *next++ = end;
    for (const QueryReport& report : reports)
      *next++ = end += static_cast<std::uint32_t>(report.neighbors.size());
  });

  const auto object_ids = fill_array<std::uint64_t>(builder, neighbors, [&](auto* next) {
    for (const QueryReport& report : reports)
      for (const Neighbor& neighbor : report.neighbors) *next++ = to_number(neighbor.object);
  });
  flatbuffers::Offset<flatbuffers::Vector<double>> distances_m, positions;
  flatbuffers::Offset<flatbuffers::Vector<std::uint32_t>> tags;
  if (with.distance)
    distances_m = fill_array<double>(builder, neighbors, [&](auto* next) {
      for (const QueryReport& report : reports)
        for (const Neighbor& neighbor : report.neighbors) *next++ = distance_of(source, neighbor);
    });
  if (with.position)
    positions = fill_array<double>(builder, 3 * neighbors, [&](auto* next) {
      for (const QueryReport& report : reports)
        for (const NeighborState& state : report.states)
          for (const double component : source.lattice->to_position(state.position))
            *next++ = component;
    });
  if (with.tags)
    tags = fill_array<std::uint32_t>(builder, neighbors, [&](auto* next) {
      for (const QueryReport& report : reports)
        for (const NeighborState& state : report.states) *next++ = state.tags;
    });
  flatbuffers::Offset<flatbuffers::Vector<std::int64_t>> votes;
  if (any_vote)
    votes = fill_array<std::int64_t>(builder, reports.size(), [&](auto* next) {
      for (const QueryReport& report : reports) *next++ = report.vote.value_or(no_label);
    });
  flatbuffers::Offset<flatbuffers::Vector<double>> means;
  if (any_mean)
    means = fill_array<double>(builder, reports.size(), [&](auto* next) {
      for (const QueryReport& report : reports) *next++ = report.mean.value_or(no_value);
    });
  return wire::CreateListChunk(builder, query_ids, has_subject, subject_ids, events, offsets,
                               object_ids, distances_m, positions, tags, votes, means);
}

std::optional<Problem> read_lists(const wire::ListChunk* table, ListChunk& lists) {
  if (table == nullptr) return malformed("A message that must carry lists has no ListChunk.");
  if (auto refusal =
          check_alignment(table->query_ids(), table->subject_ids(), table->object_ids(),
                          table->distances_m(), table->positions(), table->votes(), table->means()))
    return refusal;
  lists = {.query_ids = to_span(table->query_ids()),
           .has_subject = to_span(table->has_subject()),
           .subject_ids = to_span(table->subject_ids()),
           .events = to_span(table->events()),
           .offsets = to_span(table->offsets()),
           .object_ids = to_span(table->object_ids()),
           .distances_m = to_span(table->distances_m()),
           .positions = to_span(table->positions()),
           .tags = to_span(table->tags()),
           .votes = to_span(table->votes()),
           .means = to_span(table->means())};
  if (auto refusal = check_lengths(lists)) return refusal;
  return check_neighbors(lists);
}

std::optional<Problem> check_columns(const ReportWith& with, const ListChunk& lists) {
  const std::size_t neighbors = lists.object_ids.size();
  if (lists.distances_m.size() == (with.distance ? neighbors : 0) &&
      lists.positions.size() == (with.position ? 3 * neighbors : 0) &&
      lists.tags.size() == (with.tags ? neighbors : 0))
    return std::nullopt;
  return malformed("A chunk does not carry the columns that its header says.");
}

}  // namespace starling::protocol
