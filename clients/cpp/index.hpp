// SPDX-License-Identifier: Apache-2.0
// Batch k-NN of vectors: knn for one search, Index for several.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <vector>

#include <starling.h>

#include "starling/clients/cpp/error.hpp"
#include "starling/clients/cpp/lists.hpp"
#include "starling/clients/cpp/words.hpp"

namespace starling {
inline namespace v0 {

namespace detail {

template <class Row>
inline constexpr std::uint32_t components_of = 0;
template <std::size_t components>
inline constexpr std::uint32_t components_of<std::array<float, components>> = components;

}  // namespace detail

/// Contiguous rows of float32 components: a view of the caller's array.
class Points {
 public:
  /// Throws Error unless `components` has whole rows of `dimension` components.
  Points(std::span<const float> components, std::uint32_t dimension)
      : components_(components), dimension_(dimension) {
    detail::check_argument(dimension > 0 && components.size() % dimension == 0, "Points of ",
                           dimension, " components cannot have ", components.size(),
                           " numbers; give as many as points times dimension.");
  }
  /// Takes an array, span or vector of std::array<float, dimension>.
  template <std::ranges::contiguous_range Rows>
  requires(detail::components_of<std::ranges::range_value_t<Rows>> > 0) Points(const Rows& rows)
      : components_(
            reinterpret_cast<const float*>(std::ranges::data(rows)),
            std::ranges::size(rows) * detail::components_of<std::ranges::range_value_t<Rows>>),
        dimension_(detail::components_of<std::ranges::range_value_t<Rows>>) {}

  const float* data() const { return components_.data(); }
  std::size_t size() const { return components_.size() / dimension_; }
  std::uint32_t dimension() const { return dimension_; }

 private:
  std::span<const float> components_;
  std::uint32_t dimension_;
};

struct IndexOptions {
  Metric metric = Metric::l2;
  Backend backend = Backend::automatic;
  std::int32_t device = 0;    ///< the number of the GPU
  std::uint32_t threads = 0;  ///< threads that search on the CPU; 0: one per core
  bool borrows = false;       ///< true: reads the caller's points in place; keep them unchanged
};

/// The result of a search: the nearest rows of each query.
class NearestRows {
 public:
  /// Returns the list of a query: up to k rows, counted from 0.
  NeighborList<std::uint32_t> operator[](std::size_t query) const& {
    const auto all = std::span(rows_).subspan(query * k_, k_);
    const auto found =
        static_cast<std::size_t>(std::ranges::find(all, STARLING_NO_ROW) - all.begin());
    return {all.first(found), std::span(distances_).subspan(query * k_, found)};
  }
  NeighborList<std::uint32_t> operator[](std::size_t query) const&& = delete;  // would dangle

  std::size_t size() const { return rows_.size() / k_; }  ///< number of queries
  std::uint32_t k() const { return k_; }
  /// Both arrays have size() * k() entries. A missing neighbour is STARLING_NO_ROW, its distance
  /// NaN.
  std::span<const std::uint32_t> rows() const& { return rows_; }
  std::span<const double> distances() const& { return distances_; }
  void rows() const&& = delete;
  void distances() const&& = delete;

 private:
  friend class Index;
  std::uint32_t k_ = 1;
  std::vector<std::uint32_t> rows_;
  std::vector<double> distances_;
};

/// The result of Index::within: the rows within a distance of each query.
class RowsWithin {
 public:
  /// Returns the list of a query, nearest first: rows counted from 0.
  NeighborList<std::uint32_t> operator[](std::size_t query) const& {
    const std::uint64_t first = lists_.offsets[query];
    const std::uint64_t count = lists_.offsets[query + 1] - first;
    return {{lists_.rows + first, count}, {lists_.distances + first, count}};
  }
  NeighborList<std::uint32_t> operator[](std::size_t query) const&& = delete;  // would dangle

  std::size_t size() const { return lists_.list_count; }          ///< number of queries
  std::size_t entry_count() const { return lists_.entry_count; }  ///< all neighbours

 private:
  friend class Index;
  std::unique_ptr<starling_radius_result, detail::Destroy<starling_radius_result_destroy>> handle_;
  starling_radius_lists lists_ = detail::sized<starling_radius_lists>();
};

/// Points that are searched several times.
class Index {
 public:
  /// Throws Error if the metric does not allow a component. The sentence names its row and column,
  /// counted from 1.
  explicit Index(const Points& points, const IndexOptions& options = {})
      : dimension_(points.dimension()) {
    starling_index_options given{};
    detail::check(starling_index_options_init(&given, sizeof(given)));
    given.metric = static_cast<starling_metric>(options.metric);
    given.backend = static_cast<starling_backend>(options.backend);
    given.device = options.device;
    given.threads = options.threads;
    given.borrows = options.borrows ? 1 : 0;
    starling_index* made = nullptr;
    detail::check(
        starling_index_create(&given, points.data(), points.size(), points.dimension(), &made));
    handle_.reset(made);
  }

  /// Finds the k nearest points of each query; k is 1 to 2048. If the queries are the points
  /// first_row, first_row + 1, ... of the index, no point is its own neighbour.
  NearestRows search(const Points& queries, std::uint32_t k,
                     std::uint64_t first_row = STARLING_NOT_A_ROW) {
    constexpr std::uint32_t k_max = 2048;
    detail::check_argument(k >= 1 && k <= k_max, "k is ", k, "; it must be 1 to ", k_max, ".");
    check_dimension(queries);
    NearestRows found;
    found.k_ = k;
    found.rows_.resize(queries.size() * k);
    found.distances_.resize(queries.size() * k);
    detail::check(starling_index_search(handle_.get(), queries.data(), queries.size(), k, first_row,
                                        found.rows_.data(), found.distances_.data()));
    return found;
  }

  /// Finds all points whose distance to a query is at most the radius, which may be infinite. With
  /// inner_product, the radius may be negative: -4 means products of 4 or more. `first_row` means
  /// the same as in search(). The CPU answers for every backend.
  RowsWithin within(const Points& queries, double radius,
                    std::uint64_t first_row = STARLING_NOT_A_ROW) {
    check_dimension(queries);
    starling_radius_result* made = nullptr;
    detail::check(starling_index_radius(handle_.get(), queries.data(), queries.size(), radius,
                                        first_row, STARLING_NEAREST_FIRST, &made));
    RowsWithin found;
    found.handle_.reset(made);
    detail::check(starling_radius_result_lists(made, &found.lists_));
    return found;
  }

  /// Returns the handle that functions of starling.h take.
  starling_index* handle() const { return handle_.get(); }

 private:
  void check_dimension(const Points& queries) const {
    detail::check_argument(queries.dimension() == dimension_, "The queries have ",
                           queries.dimension(), " components each, but the points ", dimension_,
                           "; give queries of the same dimension.");
  }

  std::uint32_t dimension_;
  std::unique_ptr<starling_index, detail::Destroy<starling_index_destroy>> handle_;
};

/// Finds the k nearest points of each query. Throws Error as Index does.
inline NearestRows knn(const Points& points, const Points& queries, std::uint32_t k,
                       IndexOptions options = {}) {
  options.borrows = true;
  return Index(points, options).search(queries, k);
}

/// Finds the k nearest other points of each point.
inline NearestRows knn(const Points& points, std::uint32_t k, IndexOptions options = {}) {
  options.borrows = true;
  return Index(points, options).search(points, k, 0);
}

}  // namespace v0
}  // namespace starling
