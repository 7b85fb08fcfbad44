// SPDX-License-Identifier: Apache-2.0
// The functions of starling.h for batch k-NN of vectors and searches by radius. They check what the
// caller gives and call a VectorSearcher.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "starling/clients/c/backends.hpp"
#include "starling/clients/c/handles.hpp"
#include "starling/clients/c/inputs.hpp"
#include "starling/clients/c/progress.hpp"
#include "starling/clients/c/starling.h"
#include "starling/clients/c/structs.hpp"
#include "starling/knn/base/poll.hpp"
#include "starling/knn/vectors/row_offset.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/recipe.hpp"

namespace starling::c {
namespace {

static_assert(STARLING_NO_ROW == no_row);

// Queries are prepared and searched in parts. The prepared queries and lists of a part take at most
// this number of bytes, but a part has at least one query.
constexpr std::size_t part_bytes = std::size_t{16} << 20;

[[noreturn]] void refuse_component(const VectorFault& fault, const char* what) {
  fail(STARLING_INVALID_ARGUMENT, std::string(what) + ", row " + std::to_string(fault.row + 1) +
                                      ": " + sentence_of(fault) + ".");
}

std::string text_of(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

void check_dimension(std::uint32_t dimension) {
  if (dimension < 1 || dimension > dimension_max)
    fail(STARLING_INVALID_ARGUMENT, "dimension is " + std::to_string(dimension) +
                                        "; it must be 1 to " + std::to_string(dimension_max) + ".");
}

struct RadiusHandle final : Handle {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> rows;
  std::vector<double> distances;

  void add(Metric metric, const RadiusLists& lists, Poll& poll) {
    for (std::size_t i = 0; i + 1 < lists.offsets.size(); ++i) {
      poll();
      const std::uint64_t begin = lists.offsets[i];
      for (const VectorNeighbor& neighbor :
           lists.neighbors.subspan(begin, lists.offsets[i + 1] - begin)) {
        rows.push_back(neighbor.row);
        distances.push_back(distance_of(metric, neighbor.score));
      }
      offsets.push_back(rows.size());
    }
  }
};

class IndexHandle final : public Handle {
 public:
  IndexHandle(const starling_index_options& options, std::span<const float> rows,
              std::uint32_t dimension)
      : IndexHandle(options, rows.size() / dimension, dimension) {
    const Followed followed(*this, 0);
    if (options.borrows == 0 && !searcher_->supports_radius()) {
      rounded_.assign(rows.begin(), rows.end());
      rows = rounded_;
    }
    take_points(rows, options.borrows != 0 || !rounded_.empty());
  }

  IndexHandle(const starling_index_options& options, std::span<const double> rows,
              std::uint32_t dimension)
      : IndexHandle(options, rows.size() / dimension, dimension) {
    const Followed followed(*this, 0);
    round_points(rows);
    const bool must_stay = !searcher_->supports_radius();
    if (!take_points(rounded_, options.borrows != 0 || must_stay) && !must_stay) rounded_ = {};
  }

  std::uint32_t dimension() const { return dimension_; }
  std::uint64_t row_count() const { return row_count_; }
  std::uint64_t merged_rows() const { return merged_rows_; }
  /// Returns the offset of each component; empty if all offsets are 0.
  std::span<const double> offset() const { return offset_; }

  template <class Number>
  void search(std::span<const Number> queries, std::uint32_t k, std::uint64_t first_row,
              std::uint32_t* rows, double* distances) {
    Followed followed(*this, queries.size() / dimension_);
    check_queries(queries, k);
    for_parts(queries, k, [&](std::uint64_t first, VectorsView raw) {
      const VectorsView prepared = prepare(raw);
      lists_.resize(std::size_t{raw.rows()} * k);
      searcher_->search({.queries = prepared,
                         .k = k,
                         .first_self = first_self_of(first_row, first),
                         .on_progress =
                             [&](std::uint64_t done) {
                               followed.progress.set_done(first + done);
                               poll_();
                             }},
                        lists_);
      write(first * k, rows, distances);
    });
  }

  template <class Number>
  std::unique_ptr<RadiusHandle> radius(std::span<const Number> queries, double radius,
                                       std::uint64_t first_row, ListOrder order) {
    if (std::isnan(radius)) fail(STARLING_INVALID_ARGUMENT, "radius is not a number.");
    if (radius < 0 && metric_ != Metric::inner_product)
      fail(STARLING_INVALID_ARGUMENT, "radius is " + text_of(radius) +
                                          "; it must be at least 0. Only an inner product may be "
                                          "negative.");
    Followed followed(*this, queries.size() / dimension_);
    check_queries(queries, 0);
    auto found = std::make_unique<RadiusHandle>();
    for_parts(queries, 0, [&](std::uint64_t first, VectorsView raw) {
      radius_searcher().search_radius({.queries = prepare(raw),
                                       .radius = radius,
                                       .first_self = first_self_of(first_row, first),
                                       .order = order},
                                      [&](std::uint32_t, const RadiusLists& lists) {
                                        found->add(metric_, lists, poll_);
                                        followed.progress.set_done(found->offsets.size() - 1);
                                        poll_();
                                      });
    });
    return found;
  }

 private:
  /// Connects a call to the progress function of this thread: while this object exists, the polls
  /// of the index and its searchers report the progress of the call.
  struct Followed {
    Followed(IndexHandle& index, std::uint64_t total) : progress(total), index_(index) {
      index_.set_poll(progress.poll());
    }
    ~Followed() { index_.set_poll({}); }
    Followed(const Followed&) = delete;
    Followed& operator=(const Followed&) = delete;
    Progress progress;

   private:
    IndexHandle& index_;
  };

  IndexHandle(const starling_index_options& options, std::uint64_t row_count,
              std::uint32_t dimension)
      : metric_(metric_of(options.metric)),
        dimension_(dimension),
        row_count_(row_count),
        threads_(options.threads),
        searcher_(make_searcher({options.backend, options.device, options.threads})) {}

  void set_poll(const Poll& poll) {
    poll_ = poll;
    searcher_->set_poll(poll);
    if (cpu_searcher_) cpu_searcher_->set_poll(poll);
  }

  /// Chooses the offset, fills rounded_, and counts the rows that rounding made equal.
  void round_points(std::span<const double> rows) {
    OffsetChoice choice(metric_, dimension_);
    for_point_parts(rows, [&](std::size_t, std::span<const double> part) { choice.see(part); });
    offset_ = choice.offset();
    MergedRows merged(dimension_);
    rounded_.reserve(rows.size());
    for_point_parts(rows, [&](std::size_t first, std::span<const double> part) {
      rounded_.resize(first + part.size());
      const auto rounded = std::span(rounded_).subspan(first);
      round_to_float32(part, rounded);
      subtract_offset(offset_, part, rounded);
      merged.add(part, rounded);
    });
    merged_rows_ = merged.count(poll_);
  }

  /// Calls `take` for each part of `rows`, with the index of the part's first number and the part.
  template <class Number, class Take>
  void for_point_parts(std::span<const Number> rows, Take take) {
    const std::size_t part = std::max<std::size_t>(1, part_bytes / sizeof(Number) / dimension_);
    for (std::size_t first = 0; first < rows.size(); first += part * dimension_) {
      poll_();
      take(first, rows.subspan(first, std::min(part * dimension_, rows.size() - first)));
    }
  }

  /// Checks the points and gives them to the searcher. Returns true if the searcher reads `rows` in
  /// place from now on. `rows` must also stay if the searcher has no search by radius, because
  /// radius_searcher() reads them.
  bool take_points(std::span<const float> rows, bool may_borrow) {
    for_point_parts(rows, [&](std::size_t first, std::span<const float> part) {
      if (auto fault = find_fault(metric_, {part, dimension_})) {
        fault->row += static_cast<VectorRow>(first / dimension_);
        refuse_component(*fault, "The points");
      }
    });
    const VectorsView points{rows, dimension_};
    points_ = points;
    if (may_borrow) return searcher_->borrow_raw_corpus(metric_, points);
    searcher_->set_raw_corpus(metric_, points);
    return false;
  }

  /// Refuses a bad component before the first list is written.
  template <class Number>
  void check_queries(std::span<const Number> queries, std::uint32_t k) {
    for_parts(queries, k, [&](std::uint64_t first, VectorsView raw) {
      if (auto fault = find_fault(metric_, raw)) {
        fault->row += static_cast<VectorRow>(first);
        refuse_component(*fault, "The queries");
      }
    });
  }

  VectorsView prepare(VectorsView raw) {
    prepared_.resize(raw.components.size());
    prepare_vectors(metric_, raw, prepared_);
    return {prepared_, dimension_};
  }

  static VectorRow first_self_of(std::uint64_t first_row, std::uint64_t first) {
    return first_row == STARLING_NOT_A_ROW ? no_row : static_cast<VectorRow>(first_row + first);
  }

  /// Returns the searcher. If it has no search by radius, returns a searcher of the CPU for the
  /// same rows.
  VectorSearcher& radius_searcher() {
    if (searcher_->supports_radius()) return *searcher_;
    if (!cpu_searcher_) {
      auto searcher = make_searcher({STARLING_BACKEND_CPU, 0, threads_});
      searcher->set_poll(poll_);
      searcher->borrow_raw_corpus(metric_, points_);
      cpu_searcher_ = std::move(searcher);
    }
    return *cpu_searcher_;
  }

  /// Calls `take` for each part of `rows`, with the number of the part's first row and the part in
  /// float32 after the offset is subtracted.
  template <class Number, class Take>
  void for_parts(std::span<const Number> rows, std::uint32_t k, Take take) {
    const std::uint64_t count = rows.size() / dimension_;
    const std::size_t row_bytes = dimension_ * sizeof(float) + k * sizeof(VectorNeighbor);
    const std::uint64_t part_rows = std::max<std::uint64_t>(1, part_bytes / row_bytes);
    for (std::uint64_t first = 0; first < count; first += part_rows) {
      poll_();
      const std::uint64_t here = std::min(part_rows, count - first);
      const auto part = rows.subspan(first * dimension_, here * dimension_);
      take(first, VectorsView{raw_of(part), dimension_});
    }
  }

  std::span<const float> raw_of(std::span<const float> part) {
    if (offset_.empty()) return part;
    raw_.assign(part.begin(), part.end());
    subtract_offset(offset_, {}, raw_);
    return raw_;
  }

  std::span<const float> raw_of(std::span<const double> part) {
    raw_.resize(part.size());
    round_to_float32(part, raw_);
    subtract_offset(offset_, part, raw_);
    return raw_;
  }

  void write(std::uint64_t first, std::uint32_t* rows, double* distances) const {
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      rows[first + i] = lists_[i].row;
      if (distances != nullptr)
        distances[first + i] = lists_[i].row == no_row ? std::numeric_limits<double>::quiet_NaN()
                                                       : distance_of(metric_, lists_[i].score);
    }
  }

  Metric metric_;
  std::uint32_t dimension_;
  std::uint64_t row_count_;
  std::vector<double> offset_;
  /// Points rounded from float64, or a copy of the caller's points, if a searcher reads them in
  /// place.
  std::vector<float> rounded_;
  VectorsView points_;  ///< valid only if the searcher has no search by radius
  std::uint64_t merged_rows_ = 0;
  std::uint32_t threads_;
  std::unique_ptr<VectorSearcher> searcher_;
  /// Null until the first search by radius needs it.
  std::unique_ptr<VectorSearcher> cpu_searcher_;
  Poll poll_;  ///< the running call's poll
  std::vector<float> raw_;
  std::vector<float> prepared_;
  std::vector<VectorNeighbor> lists_;
};

template <class Number>
std::unique_ptr<IndexHandle> make_index(const starling_index_options& options, const Number* rows,
                                        std::uint64_t row_count, std::uint32_t dimension) {
  check_dimension(dimension);
  if (row_count > vector_rows_max)
    fail(STARLING_INVALID_ARGUMENT, "There are " + std::to_string(row_count) +
                                        " rows; an index has at most " +
                                        std::to_string(vector_rows_max) + ".");
  return std::make_unique<IndexHandle>(options, array_of(rows, row_count * dimension, "The rows"),
                                       dimension);
}

void check_query_rows(const IndexHandle& index, std::uint64_t query_count,
                      std::uint64_t first_row) {
  if (query_count > vector_rows_max)
    fail(STARLING_INVALID_ARGUMENT, "There are " + std::to_string(query_count) +
                                        " queries; pass at most " +
                                        std::to_string(vector_rows_max) + " at once.");
  if (first_row != STARLING_NOT_A_ROW &&
      (first_row > index.row_count() || query_count > index.row_count() - first_row))
    fail(STARLING_INVALID_ARGUMENT, "The queries are said to be the rows from " +
                                        std::to_string(first_row) + " on, but the index has " +
                                        std::to_string(index.row_count()) + " rows.");
}

template <class Number>
void search(IndexHandle& index, const Number* queries, std::uint64_t query_count, std::uint32_t k,
            std::uint64_t first_row, std::uint32_t* rows, double* distances) {
  if (k < 1 || k > vector_k_max)
    fail(STARLING_INVALID_ARGUMENT,
         "k is " + std::to_string(k) + "; it must be 1 to " + std::to_string(vector_k_max) + ".");
  check_query_rows(index, query_count, first_row);
  if (rows == nullptr && query_count > 0) fail(STARLING_INVALID_ARGUMENT, "rows is NULL.");
  index.search(array_of(queries, query_count * index.dimension(), "queries"), k, first_row, rows,
               distances);
}

template <class Number>
void search_radius(IndexHandle& index, const Number* queries, std::uint64_t query_count,
                   double radius, std::uint64_t first_row, starling_list_order order,
                   starling_radius_result** result) {
  check_query_rows(index, query_count, first_row);
  if (order != STARLING_NEAREST_FIRST && order != STARLING_BY_ROW)
    fail(STARLING_INVALID_ARGUMENT,
         "order is " + std::to_string(order) + "; it must be 0 or 1, see starling.h.");
  const auto rows = array_of(queries, query_count * index.dimension(), "queries");
  give(index.radius(rows, radius, first_row,
                    order == STARLING_BY_ROW ? ListOrder::by_row : ListOrder::nearest_first),
       result);
}

}  // namespace
}  // namespace starling::c

using namespace starling;

starling_code starling_index_options_init(starling_index_options* options, size_t size) {
  return c::guard([&] {
    c::init_struct(options, size, "starling_index_options",
                   starling_index_options{.size = 0,
                                          .metric = STARLING_L2,
                                          .backend = STARLING_BACKEND_AUTO,
                                          .device = 0,
                                          .threads = 0,
                                          .borrows = 0,
                                          .reserved = 0});
  });
}

starling_code starling_index_create(const starling_index_options* options, const float* rows,
                                    uint64_t row_count, uint32_t dimension,
                                    starling_index** index) {
  return c::guard([&] {
    c::check_place(index, "index");
    c::give(c::make_index(c::read_struct(options, "options"), rows, row_count, dimension), index);
  });
}

starling_code starling_index_destroy(starling_index* index) {
  return c::destroy<c::IndexHandle>(index);
}

starling_code starling_index_search(starling_index* index, const float* queries,
                                    uint64_t query_count, uint32_t k, uint64_t first_row,
                                    uint32_t* rows, double* distances) {
  return c::guard([&] {
    const c::Use<c::IndexHandle> use(index);
    c::search(*use, queries, query_count, k, first_row, rows, distances);
  });
}

starling_code starling_index_create_f64(const starling_index_options* options, const double* rows,
                                        uint64_t row_count, uint32_t dimension,
                                        starling_index** index) {
  return c::guard([&] {
    c::check_place(index, "index");
    c::give(c::make_index(c::read_struct(options, "options"), rows, row_count, dimension), index);
  });
}

starling_code starling_index_search_f64(starling_index* index, const double* queries,
                                        uint64_t query_count, uint32_t k, uint64_t first_row,
                                        uint32_t* rows, double* distances) {
  return c::guard([&] {
    const c::Use<c::IndexHandle> use(index);
    c::search(*use, queries, query_count, k, first_row, rows, distances);
  });
}

starling_code starling_index_radius(starling_index* index, const float* queries,
                                    uint64_t query_count, double radius, uint64_t first_row,
                                    starling_list_order order, starling_radius_result** result) {
  return c::guard([&] {
    c::check_place(result, "result");
    const c::Use<c::IndexHandle> use(index);
    c::search_radius(*use, queries, query_count, radius, first_row, order, result);
  });
}

starling_code starling_index_radius_f64(starling_index* index, const double* queries,
                                        uint64_t query_count, double radius, uint64_t first_row,
                                        starling_list_order order,
                                        starling_radius_result** result) {
  return c::guard([&] {
    c::check_place(result, "result");
    const c::Use<c::IndexHandle> use(index);
    c::search_radius(*use, queries, query_count, radius, first_row, order, result);
  });
}

starling_code starling_radius_result_lists(const starling_radius_result* result,
                                           starling_radius_lists* lists) {
  return c::guard([&] {
    const c::Use<c::RadiusHandle> use(result);
    c::write_struct(lists, "lists",
                    starling_radius_lists{.size = 0,
                                          .list_count = use->offsets.size() - 1,
                                          .entry_count = use->rows.size(),
                                          .offsets = use->offsets.data(),
                                          .rows = use->rows.data(),
                                          .distances = use->distances.data()});
  });
}

starling_code starling_radius_result_destroy(starling_radius_result* result) {
  return c::destroy<c::RadiusHandle>(result);
}

starling_code starling_index_rounding(const starling_index* index, double* offset,
                                      uint64_t* merged_rows) {
  return c::guard([&] {
    const c::Use<c::IndexHandle> use(index);
    if (offset != nullptr) {
      std::fill_n(offset, use->dimension(), 0.0);
      std::ranges::copy(use->offset(), offset);
    }
    if (merged_rows != nullptr) *merged_rows = use->merged_rows();
  });
}

starling_code starling_knn(const starling_index_options* options, const float* points,
                           uint64_t point_count, const float* queries, uint64_t query_count,
                           uint32_t dimension, uint32_t k, uint32_t* rows, double* distances) {
  return c::guard([&] {
    starling_index_options given = c::read_struct(options, "options");
    given.borrows = 1;  // the points stay during the call
    const auto index = c::make_index(given, points, point_count, dimension);
    c::search(*index, queries, query_count, k, STARLING_NOT_A_ROW, rows, distances);
  });
}

starling_code starling_copy_from_device(void* to, const void* from, uint64_t bytes,
                                        int32_t device) {
  return c::guard([&] {
    if (to == nullptr && bytes > 0) c::fail(STARLING_INVALID_ARGUMENT, "to is NULL.");
    if (from == nullptr && bytes > 0) c::fail(STARLING_INVALID_ARGUMENT, "from is NULL.");
    if (bytes > std::numeric_limits<std::ptrdiff_t>::max())
      c::fail(STARLING_INVALID_ARGUMENT,
              "bytes is " + std::to_string(bytes) + "; no array is longer than 2^63 - 1 bytes.");
    c::copy_from_device(to, from, bytes, device);
  });
}
