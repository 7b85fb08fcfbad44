// SPDX-License-Identifier: Apache-2.0
// Searches as the serial programs of the papers do: without SIMD, threads or blocks of rows. See
// serial_search.hpp.
#include "starling/bench/vectors/serial_search.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "starling/bench/clock.hpp"
#include "starling/bench/vectors/knn_data.hpp"

namespace starling::bench {
namespace {

constexpr VectorNeighbor no_neighbor{std::numeric_limits<float>::infinity(), no_row};

float plain_score(Metric metric, std::span<const float> x, std::span<const float> y) {
  float sum = 0;
  if (metric == Metric::inner_product) {
    for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
    return 0 - sum;
  }
  for (std::size_t j = 0; j < x.size(); ++j) sum += (x[j] - y[j]) * (x[j] - y[j]);
  return sum;
}

void select_by_sort(std::vector<VectorNeighbor>& all, std::span<VectorNeighbor> list) {
  std::ranges::sort(all);
  std::copy_n(all.begin(), list.size(), list.begin());
}

void select_by_insertion(const std::vector<VectorNeighbor>& all, std::span<VectorNeighbor> list) {
  std::ranges::fill(list, no_neighbor);
  for (const VectorNeighbor& next : all) {
    if (next >= list.back()) continue;
    std::size_t place = list.size() - 1;
    for (; place > 0 && next < list[place - 1]; --place) list[place] = list[place - 1];
    list[place] = next;
  }
}

void select_by_nth_element(std::vector<VectorNeighbor>& all, std::span<VectorNeighbor> list) {
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(list.size());
  std::ranges::nth_element(all, end - 1);
  std::sort(all.begin(), end);
  std::copy(all.begin(), end, list.begin());
}

}  // namespace

std::string_view name_of(SerialSelection selection) {
  switch (selection) {
    case SerialSelection::sort:
      return "sort";
    case SerialSelection::insertion:
      return "insertion";
    case SerialSelection::nth_element:
      return "nth_element";
  }
  return "";
}

void serial_search(Metric metric, VectorsView corpus, std::span<const float> query, VectorRow self,
                   SerialSelection selection, std::span<VectorNeighbor> list) {
  std::vector<VectorNeighbor> all(std::max<std::size_t>(corpus.rows(), list.size()), no_neighbor);
  for (VectorRow row = 0; row < corpus.rows(); ++row)
    if (row != self) all[row] = {plain_score(metric, query, corpus.row(row)), row};
  switch (selection) {
    case SerialSelection::sort:
      return select_by_sort(all, list);
    case SerialSelection::insertion:
      return select_by_insertion(all, list);
    case SerialSelection::nth_element:
      return select_by_nth_element(all, list);
  }
}

SerialTime time_serial_search(Metric metric, VectorsView corpus, VectorsView queries, bool is_graph,
                              std::uint32_t k, SerialSelection selection, double seconds) {
  std::vector<VectorNeighbor> list(k);
  SerialTime time;
  const auto begun = Clock::now();
  double ms = 0;
  while (time.queries < queries.rows() && (time.queries == 0 || ms < seconds * 1e3)) {
    const VectorRow query = time.queries++;
    serial_search(metric, corpus, queries.row(query), is_graph ? query : no_row, selection, list);
    ms = ms_between(begun, Clock::now());
  }
  time.ms = ms * queries.rows() / time.queries;
  return time;
}

double serial_selection_ms(std::uint32_t rows, std::uint32_t columns, std::uint32_t k) {
  constexpr double enough_ms = 1e3;
  std::vector<VectorNeighbor> list(k);
  std::vector<VectorNeighbor> row(std::max(columns, k), no_neighbor);
  double ms = 0;
  std::uint32_t done = 0;
  while (done < rows && ms < enough_ms) {
    const std::vector<float> values = random_rows(Metric::hellinger, 1, columns, done++);
    for (VectorRow column = 0; column < columns; ++column) row[column] = {values[column], column};
    const auto begun = Clock::now();
    select_by_nth_element(row, list);
    ms += ms_between(begun, Clock::now());
  }
  return ms * rows / done;
}

}  // namespace starling::bench
