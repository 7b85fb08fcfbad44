// SPDX-License-Identifier: Apache-2.0
// Plain searches on one core: all scores of a query, then a selection. The papers compare their
// methods with such programs. `starling bench knn --serial` measures them beside the published
// times.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "starling/knn/words/metric.hpp"

namespace starling::bench {

/// How the k nearest are selected from all scores.
enum class SerialSelection : std::uint8_t {
  sort,         ///< all scores are sorted, by introsort: quick sort with a bound on its depth
  insertion,    ///< each score is inserted into a sorted list of the k least, if it belongs there
  nth_element,  ///< the k least are separated by quickselect and then sorted
};
inline constexpr std::array serial_selections{SerialSelection::sort, SerialSelection::insertion,
                                              SerialSelection::nth_element};

/// Returns "sort", "insertion" or "nth_element".
std::string_view name_of(SerialSelection selection);

/// Writes the k rows of `corpus` nearest to `query` into `list`, which has k entries; entries
/// without a row are {infinity, no_row}. The row `self` is left out, unless it is no_row. Scores
/// are sums of products that are rounded one by one, so they may differ in the last bits from the
/// scores that VectorNeighbor defines.
void serial_search(Metric metric, VectorsView corpus, std::span<const float> query, VectorRow self,
                   SerialSelection selection, std::span<VectorNeighbor> list);

/// The time of a serial search of many queries.
struct SerialTime {
  double ms = 0;  ///< time of all queries, extrapolated from the queries that were searched
  std::uint32_t queries = 0;  ///< number of queries that were searched
};

/// Searches the first queries one after another for about `seconds`, at least one of them. If
/// `is_graph`, query i is row i, and not its own neighbour.
SerialTime time_serial_search(Metric metric, VectorsView corpus, VectorsView queries, bool is_graph,
                              std::uint32_t k, SerialSelection selection, double seconds);

/// Returns the time in milliseconds in which one core selects the k least numbers of each row of a
/// random matrix by std::nth_element, and sorts them. Runs for about a second, and extrapolates to
/// all rows.
double serial_selection_ms(std::uint32_t rows, std::uint32_t columns, std::uint32_t k);

}  // namespace starling::bench
