// Neighbour lists on the wire: a struct of arrays, at most chunk_bytes_max long, that holds whole
// lists. Used in tick messages, snapshot pages and one-shot answers alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::protocol {

/// A decoded chunk: views into its frame, with all lengths checked.
struct ListChunk {
  std::span<const std::uint64_t> query_ids{};    ///< one a list
  std::span<const std::uint8_t> has_subject{};   ///< one a list, or empty: none has
  std::span<const std::uint64_t> subject_ids{};  ///< as has_subject
  std::span<const std::uint8_t> events{};        ///< one a list, or empty: all updated
  std::span<const std::uint32_t> offsets{};      ///< lists + 1
  std::span<const std::uint64_t> object_ids{};   ///< one a neighbour, as all that follow
  std::span<const double> distances_m{};         ///< or empty
  std::span<const double> positions{};           ///< three a neighbour, or empty
  std::span<const std::uint32_t> tags{};         ///< or empty
  std::span<const Label> votes{};                ///< one a list, or empty: none votes

  std::size_t list_count() const { return query_ids.size(); }
  bool subject_of(std::size_t list) const { return !has_subject.empty() && has_subject[list] != 0; }
  ListEvent event_of(std::size_t list) const {
    return !events.empty() && events[list] != 0 ? ListEvent::removed : ListEvent::updated;
  }
  Label vote_of(std::size_t list) const { return votes.empty() ? no_label : votes[list]; }
  std::size_t neighbor_count(std::size_t list) const { return offsets[list + 1] - offsets[list]; }
};

/// Lists to encode: what a tick reports, or a copy of current lists in the same form.
struct ListSource {
  std::span<const QueryReport> reports{};
  ReportWith with{};
  const Lattice* lattice = nullptr;  ///< null in a vector space
  Metric metric = Metric::l2;        ///< of a vector space
};

/// What is encoded of `source.with`: no positions and tags in a tick that was begun before its
/// stream asked for them, and so lacks its neighbours' states.
ReportWith carried_columns(const ListSource& source);

/// How many of the first reports fit one chunk; at least one if there is any.
std::size_t lists_that_fit(std::span<const QueryReport> reports, const ReportWith& with);

}  // namespace starling::protocol
