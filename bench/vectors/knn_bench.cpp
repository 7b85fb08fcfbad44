// SPDX-License-Identifier: Apache-2.0
// Measures and checks searches: see knn_bench.hpp. Successive runs use different sets of queries,
// if there are several sets, so that the queries are not in a cache. Before each run the lists are
// poisoned, so that old results cannot pass as new results.
#include "starling/bench/vectors/knn_bench.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "starling/bench/clock.hpp"
#include "starling/bench/format.hpp"
#include "starling/bench/vectors/knn_check.hpp"
#include "starling/bench/vectors/knn_data.hpp"
#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

constexpr std::size_t sets_max = 16;
// Several sets of queries have at most this many floats together: 32 MiB.
constexpr std::size_t set_floats_max = std::size_t{1} << 23;
constexpr double long_run_ms = 1000;
constexpr int long_runs = 3;
constexpr int upload_runs = 3;
constexpr double serial_s = 1;
constexpr std::size_t checked_lists_max = 3;
// Several checked lists read at most this many components together: 1 to 2 s on one core.
constexpr std::size_t checked_components_max = std::size_t{1} << 31;

/// The value of every entry before a run. An entry that still has this value after the run was not
/// written, because no row has the number no_row - 1.
constexpr VectorNeighbor poison{-1, no_row - 1};

std::string sentence_of(const KnnShape& shape) {
  return format("%u rows of %u, %u queries, k %u, ", shape.rows, shape.dimension, shape.queries,
                shape.k) +
         std::string(starling::name_of(shape.metric));
}

}  // namespace

KnnFloor floor_of(const KnnShape& shape, const DeviceRates& rates) {
  const double rows = shape.rows;
  const double queries = shape.queries;
  const double rows_read = shape.is_graph ? rows : rows + queries;
  const double bytes =
      rows_read * shape.dimension * sizeof(float) + queries * shape.k * sizeof(VectorNeighbor);
  const double steps = rows * queries * shape.dimension;
  return {.bytes_ms = rates.read_gb_per_s > 0 ? bytes / rates.read_gb_per_s / 1e6 : 0,
          .steps_ms = rates.steps_per_s > 0 ? steps / rates.steps_per_s * 1e3 : 0};
}

void KnnBench::set_shape(const KnnShape& shape) {
  const bool is_corpus_there = !corpus_.components().empty() && shape.rows == shape_.rows &&
                               shape.dimension == shape_.dimension && shape.metric == shape_.metric;
  shape_ = shape;
  if (!is_corpus_there) {
    corpus_ = KnnCorpus(random_rows(shape.metric, shape.rows, shape.dimension, seed_), memory_,
                        searcher_);
    searcher_.set_corpus(shape.metric, corpus_view());
  }
  sets_.clear();
  if (shape.is_graph) {
    sets_.emplace_back(corpus_.components().begin(), corpus_.components().end());
  } else {
    const std::size_t floats = std::size_t{shape.queries} * shape.dimension;
    const std::size_t count = std::clamp<std::size_t>(set_floats_max / floats, 1, sets_max);
    for (std::size_t set = 0; set < count; ++set) {
      const std::vector<float> rows =
          random_rows(shape.metric, shape.queries, shape.dimension, seed_ + 1 + set);
      sets_.emplace_back(rows.begin(), rows.end());
    }
  }
  lists_.resize(std::size_t{shape.queries} * shape.k);
  make_exact_lists();
}

void KnnBench::make_exact_lists() {
  exact_lists_.clear();
  const std::size_t components = std::size_t{shape_.rows} * shape_.dimension;
  const std::size_t count = std::clamp<std::size_t>(
      std::min<std::size_t>(checked_components_max / components, shape_.queries), 1,
      checked_lists_max);
  const VectorsView queries{sets_.front(), shape_.dimension};
  for (std::size_t i = 0; i < count; ++i) {
    const auto query = static_cast<std::uint32_t>(
        count == 1 ? shape_.queries / 2 : (shape_.queries - 1) * i / (count - 1));
    exact_lists_.push_back({query, exact_list(shape_.metric, corpus_view(), queries.row(query),
                                              shape_.k, shape_.is_graph ? query : no_row)});
  }
}

double KnnBench::run(SearchMethod method, std::size_t set, bool with_corpus) {
  std::ranges::fill(lists_, poison);
  VectorSearch search;
  search.queries = {sets_[set], shape_.dimension};
  search.k = shape_.k;
  if (shape_.is_graph) search.first_self = 0;
  search.method = method;
  const auto begun = Clock::now();
  if (with_corpus)
    searcher_.set_corpus_and_search(shape_.metric, corpus_view(), search, lists_);
  else
    searcher_.search(search, lists_);
  const double host_ms = ms_between(begun, Clock::now());
  const auto left = std::ranges::find(lists_, poison);
  if (left != lists_.end())
    throw std::runtime_error(format("bench knn: %s by %s left list %td unwritten; ",
                                    std::string(searcher_.name()).c_str(),
                                    std::string(name_of(method)).c_str(),
                                    (left - lists_.begin()) / shape_.k) +
                             sentence_of(shape_));
  return host_ms;
}

void KnnBench::check_lists(SearchMethod method) const {
  for (const ExactList& exact : exact_lists_) {
    const auto found = difference(
        std::span(lists_).subspan(std::size_t{exact.query} * shape_.k, shape_.k), exact.list);
    if (found)
      throw std::runtime_error(format("bench knn: %s by %s found a wrong list: of query %u, ",
                                      std::string(searcher_.name()).c_str(),
                                      std::string(name_of(method)).c_str(), exact.query) +
                               *found + "; " + sentence_of(shape_));
  }
}

std::optional<KnnTime> KnnBench::measure(SearchMethod method) {
  if (!searcher_.supports(method)) return {};
  const double warming_ms = run(method, 0);
  check_lists(method);
  KnnTime time;
  time.runs = runs_ > 0 ? runs_ : warming_ms > long_run_ms ? long_runs : knn_runs_enough;
  std::vector<double> device_ms;
  std::vector<double> host_ms;
  for (int left = time.runs - 1; left >= 0; --left) {
    host_ms.push_back(run(method, static_cast<std::size_t>(left) % sets_.size()));
    device_ms.push_back(searcher_.device_ms());
  }
  check_lists(method);  // the lists of the last run, which used the first set again
  time.device_ms = median(device_ms);
  time.host_ms = median(host_ms);
  time.upload_ms = upload_ms();
  time.upload_search_ms = upload_search_ms(method);
  check_lists(method);
  return time;
}

/// Returns the host time of giving the corpus to the searcher together with a search.
double KnnBench::upload_search_ms(SearchMethod method) {
  std::vector<double> all_ms;
  for (int left = upload_runs; left > 0; --left) {
    all_ms.push_back(run(method, 0, true));
  }
  return median(all_ms);
}

/// Returns the host time of giving the corpus to the searcher.
double KnnBench::upload_ms() {
  std::vector<double> all_ms;
  for (int left = upload_runs; left > 0; --left) {
    const auto begun = Clock::now();
    searcher_.set_corpus(shape_.metric, corpus_view());
    all_ms.push_back(ms_between(begun, Clock::now()));
  }
  return median(all_ms);
}

SerialTime KnnBench::measure_serial(SerialSelection selection) const {
  return time_serial_search(shape_.metric, corpus_view(), {sets_.front(), shape_.dimension},
                            shape_.is_graph, shape_.k, selection, serial_s);
}

}  // namespace starling::bench
