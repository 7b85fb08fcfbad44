// SPDX-License-Identifier: Apache-2.0
// A ListChunk holds neighbour lists on the wire, as a struct of arrays. It holds whole lists and is
// at most chunk_bytes_max long. Tick messages, snapshot pages and answers to GetNeighbors carry
// ListChunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/limits.hpp"

namespace starling::protocol {

/// A decoded chunk. The spans point into its frame, and their lengths have been checked.
struct ListChunk {
  std::span<const std::uint64_t> query_ids{};    ///< one per list
  std::span<const std::uint8_t> has_subject{};   ///< one per list; empty: no list has a subject
  std::span<const std::uint64_t> subject_ids{};  ///< one per list; empty if has_subject is empty
  std::span<const std::uint8_t> events{};        ///< one per list; empty: all lists are updated
  /// One per list: the index of its first neighbour. One more entry at the end: the number of all
  /// neighbours.
  std::span<const std::uint32_t> offsets{};
  std::span<const std::uint64_t> object_ids{};  ///< one per neighbour
  std::span<const double> distances_m{};        ///< one per neighbour, or empty
  std::span<const double> positions{};          ///< three numbers per neighbour, or empty
  std::span<const std::uint32_t> tags{};        ///< one per neighbour, or empty
  std::span<const Label> votes{};               ///< one per list; empty: no list has a vote
  std::span<const double> means{};              ///< one per list; empty: no list has a mean

  std::size_t list_count() const { return query_ids.size(); }
  bool subject_of(std::size_t list) const { return !has_subject.empty() && has_subject[list] != 0; }
  ListEvent event_of(std::size_t list) const {
    return !events.empty() && events[list] != 0 ? ListEvent::removed : ListEvent::updated;
  }
  Label vote_of(std::size_t list) const { return votes.empty() ? no_label : votes[list]; }
  double mean_of(std::size_t list) const { return means.empty() ? no_value : means[list]; }
  std::size_t neighbor_count(std::size_t list) const { return offsets[list + 1] - offsets[list]; }
};

/// Lists to encode: the reports of a tick, or current lists in the same form.
struct ListSource {
  std::span<const QueryReport> reports{};
  ReportWith with{};
  const Lattice* lattice = nullptr;  ///< null in a vector space
  Metric metric = Metric::l2;        ///< used in a vector space only
};

/// Returns the columns that can be encoded: the columns of `source.with`, but neither positions nor
/// tags if a report lacks the states of its neighbours. Reports of a tick lack the states if the
/// tick began before the stream asked for positions or tags.
ReportWith carried_columns(const ListSource& source);

/// Returns how many reports, from the first on, fit in one chunk of `bytes_max` bytes. Returns at
/// least 1 if there are reports.
std::size_t lists_that_fit(std::span<const QueryReport> reports, const ReportWith& with,
                           std::size_t bytes_max = chunk_bytes_max);

}  // namespace starling::protocol
