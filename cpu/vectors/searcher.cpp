// SPDX-License-Identifier: Apache-2.0
// Implements the searcher of searcher.hpp. It owns the corpus, checks each search, chooses among
// RowTree, FilteredSearch and PanelSearch, and sets which rows the queries skip in PanelSearch.
// RadiusScan does every search by radius, whatever the RowFilter is.
#include "starling/cpu/vectors/searcher.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "starling/cpu/vectors/filtered_search.hpp"
#include "starling/cpu/vectors/panel_search.hpp"
#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/radius_scan.hpp"
#include "starling/cpu/vectors/rates.hpp"
#include "starling/cpu/vectors/scan.hpp"
#include "starling/cpu/vectors/tree/row_tree.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/base/usage.hpp"
#include "starling/knn/vectors/corpus_rows.hpp"
#include "starling/knn/words/recipe.hpp"

namespace starling::cpu {
namespace {

// Shadows save time if rows have at least dimension_min components, and if the corpus has at least
// list_work components for each entry of a list: every entry costs time, because candidates are
// added and dropped. A shorter list counts as one of list_min entries.
// docs/decisions/0012-integer-filter.md has the measurements.
struct FilterLimits {
  std::size_t dimension_min;
  /// dimension_min for the inner product, whose scores are cheaper.
  std::size_t product_dimension_min;
  std::size_t list_work;
};
constexpr FilterLimits fused_limits{96, 256, std::size_t{1} << 16};
constexpr FilterLimits emulated_limits{2, 2, std::size_t{1} << 9};  // no fused multiply-add
constexpr std::uint32_t list_min = 16;

// A tree should save time if the corpus has at least this many rows for each entry of a list. The
// number is a guess. A k-NN graph of 200,000 rows with k = 8 is far above it, and takes a tenth of
// the time with the tree.
constexpr std::uint32_t tree_rows_an_entry = 64;

bool saves_time(Metric metric, std::uint32_t rows, std::uint32_t dimension, std::uint32_t k) {
  const FilterLimits& limits = scan_has_fused_multiply_add() ? fused_limits : emulated_limits;
  const std::size_t dimension_min =
      metric == Metric::inner_product ? limits.product_dimension_min : limits.dimension_min;
  return dimension >= dimension_min &&
         std::size_t{rows} * dimension >= limits.list_work * std::max(k, list_min);
}

class CpuVectorSearcher final : public VectorSearcher {
 public:
  CpuVectorSearcher(unsigned threads, RowFilter filter)
      : pool_(threads == 0 ? std::max(1u, std::thread::hardware_concurrency()) : threads),
        panel_search_(pool_),
        filtered_search_(pool_),
        radius_scan_(pool_),
        filter_(filter) {}

  std::string_view name() const override { return "cpu"; }
  bool supports(SearchMethod method) const override { return method == SearchMethod::automatic; }

  void set_poll(const Poll& poll) override { pool_.set_poll(poll); }

  DeviceRates rates() override { return measure_rates(pool_); }

  void set_corpus(Metric metric, VectorsView corpus) override {
    take_corpus(metric, CorpusRows(corpus), Taken::copied);
  }
  bool borrow_corpus(Metric metric, VectorsView corpus) override {
    take_corpus(metric, CorpusRows(corpus), Taken::borrowed);
    return is_borrowed();
  }
  void set_raw_corpus(Metric metric, VectorsView corpus) override {
    take_corpus(metric, CorpusRows::raw(metric, corpus), Taken::copied);
  }
  bool borrow_raw_corpus(Metric metric, VectorsView corpus) override {
    take_corpus(metric, CorpusRows::raw(metric, corpus), Taken::borrowed);
    return is_borrowed();
  }

  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    if (!supports(search.method))
      throw std::invalid_argument(
          "the cpu searcher has only one method: use SearchMethod::automatic");
    check_search(search, dimension_, row_count_, lists.size());
    if (!tree_.is_empty() && should_use_tree(rows_, search.k))
      tree_.search(search, pool_, lists);
    else if (tree_.is_empty() && has_rows_ && should_filter(rows_, search.k))
      search_filtered(search, lists);
    else
      search_panels(search, lists);
    if (search.on_progress) search.on_progress(search.queries.rows());
  }

  bool supports_radius() const override { return true; }

  void search_radius(const RadiusSearch& search, const TakeRadiusLists& take) override {
    check_radius(search, metric_, dimension_, row_count_);
    radius_scan_.start(metric_, search);
    while (radius_scan_.next_queries()) {
      if (search.on_progress && radius_scan_.first_query() > 0)
        search.on_progress(radius_scan_.first_query());
      if (!tree_.is_empty())
        radius_scan_.add_tree(tree_);
      else
        for_strips([&](const VectorPanels& strip, VectorRow first) {
          radius_scan_.add_panels(strip, first);
        });
      if (radius_scan_.is_too_long()) continue;
      take(radius_scan_.first_query(), radius_scan_.gather());
    }
    if (search.on_progress) search.on_progress(search.queries.rows());
  }

 private:
  /// If a borrowed corpus has more bytes, its panels are made strip by strip, in strips of this
  /// size.
  static constexpr std::size_t strip_bytes = std::size_t{32} << 20;

  bool is_borrowed() const { return has_rows_ && copy_ == nullptr; }

  bool should_use_tree(const CorpusRows& corpus, std::uint32_t k) const {
    if (recipe_of(metric_) != Recipe::squared_differences || corpus.rows() == 0 ||
        corpus.dimension() > RowTree::dimension_max)
      return false;
    if (filter_ == RowFilter::tree) return true;
    return filter_ == RowFilter::automatic &&
           corpus.rows() / tree_rows_an_entry >= std::max(k, list_min);
  }

  bool should_filter(const CorpusRows& corpus, std::uint32_t k) const {
    if (!has_filter(recipe_of(metric_))) return false;
    if (filter_ != RowFilter::automatic) return filter_ == RowFilter::always;
    return saves_time(metric_, corpus.rows(), corpus.dimension(), k);
  }

  enum class Taken : std::uint8_t { copied, borrowed };

  void take_corpus(Metric metric, CorpusRows corpus, Taken taken) {
    check_usage(corpus.dimension() >= 1 && corpus.dimension() <= dimension_max,
                "set_corpus: the rows have ", corpus.dimension(), " components; 1 to ",
                dimension_max, " are allowed");
    panels_ = VectorPanels();
    filtered_search_.clear();
    tree_ = RowTree();
    rows_ = CorpusRows();
    copy_.reset();
    has_rows_ = false;
    metric_ = metric;
    dimension_ = corpus.dimension();
    row_count_ = corpus.rows();
    const bool uses_tree = should_use_tree(corpus, list_min);
    if (!uses_tree && !should_filter(corpus, 1)) {
      panels_ = VectorPanels(corpus, scan_panel_rows(), pool_);
      return;
    }
    std::unique_ptr<float[]> copied;
    // A tree needs prepared rows. The copy is small, because its rows have at most three
    // components.
    if (taken == Taken::copied || (uses_tree && !corpus.are_prepared())) {
      copied = copy_of(corpus);
      corpus = CorpusRows({{copied.get(), corpus.in_memory().components.size()}, dimension_});
    }
    corpus.keep_measures(pool_);
    copy_ = std::move(copied);
    rows_ = std::move(corpus);
    if (uses_tree)
      tree_ = RowTree(rows_.in_memory(), pool_);
    else
      filtered_search_.set_corpus(metric, rows_);
    has_rows_ = true;
  }

  /// Returns a prepared copy of the rows.
  std::unique_ptr<float[]> copy_of(const CorpusRows& corpus) {
    const std::size_t components = corpus.in_memory().components.size();
    auto copied = std::make_unique_for_overwrite<float[]>(components);
    corpus.prepare_all(pool_, {copied.get(), components});
    return copied;
  }

  /// Returns the row of the corpus that is the query itself. Not called if no query is a row.
  using SelfOf = std::function<VectorRow(std::uint32_t query)>;

  void search_panels(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    search_panels(
        search, [&](std::uint32_t query) { return search.first_self + query; }, lists);
  }

  void search_panels(const VectorSearch& search, const SelfOf& self_of,
                     std::span<VectorNeighbor> lists) {
    if (needs_strips()) return search_strips(search, self_of, lists);
    make_panels();
    search_some(panels_, 0, search, self_of, lists);
  }

  /// Searches panels whose first row has the number `first` in the corpus.
  void search_some(const VectorPanels& panels, VectorRow first, const VectorSearch& search,
                   const SelfOf& self_of, std::span<VectorNeighbor> lists) {
    PanelQuestion question{.metric = metric_,
                           .corpus = panels,
                           .queries = search.queries,
                           .k = search.k,
                           .on_progress = search.on_progress};
    // The self of a query may be before `first`. The difference then wraps to a number beyond all
    // rows.
    if (search.first_self != no_row)
      question.choose = [&](NearestRows& nearest, std::uint32_t query, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) nearest.pass_over(i, self_of(query + i) - first);
      };
    panel_search_.nearest(question, lists);
  }

  /// Returns true if the panels of all rows would be a second large copy of the corpus.
  bool needs_strips() const {
    return is_borrowed() && std::size_t{rows_.rows()} * dimension_ * sizeof(float) > strip_bytes;
  }

  /// Calls act(panels, row) for the panels of all rows, or of one strip of rows after another.
  /// `row` is the number of the first row of the panels.
  template <class Act>
  void for_strips(const Act& act) {
    if (!needs_strips()) {
      make_panels();
      return act(panels_, 0);
    }
    const std::size_t panel_bytes = scan_panel_rows() * dimension_ * sizeof(float);
    const auto strip_rows =
        static_cast<std::uint32_t>(strip_bytes / panel_bytes * scan_panel_rows());
    VectorPanels strip(dimension_, scan_panel_rows());
    for (VectorRow first = 0; first < rows_.rows(); first += strip_rows) {
      strip.assign(rows_, first, std::min(strip_rows, rows_.rows() - first), pool_);
      act(strip, first);
    }
  }

  /// Searches one strip after another, and merges the lists of the strips.
  void search_strips(const VectorSearch& search, const SelfOf& self_of,
                     std::span<VectorNeighbor> lists) {
    VectorSearch quiet = search;
    quiet.on_progress = {};
    std::vector<VectorNeighbor> found(lists.size());
    std::ranges::fill(lists, VectorNeighbor{std::numeric_limits<float>::infinity(), no_row});
    for_strips([&](const VectorPanels& strip, VectorRow first) {
      search_some(strip, first, quiet, self_of, found);
      for (std::size_t at = 0; at < lists.size(); at += search.k) {
        pool_.poll_after_tiny_step();
        merge(lists.subspan(at, search.k), std::span(found).subspan(at, search.k), first);
      }
    });
  }

  /// Merges a list of a strip, whose rows begin at `first`, into the list of earlier rows.
  void merge(std::span<VectorNeighbor> list, std::span<VectorNeighbor> found, VectorRow first) {
    for (VectorNeighbor& neighbor : found)
      if (neighbor.row != no_row) neighbor.row += first;
    merged_.resize(list.size() + found.size());
    std::ranges::merge(list, found, merged_.begin());
    std::copy_n(merged_.begin(), list.size(), list.begin());
  }

  void search_filtered(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    const std::vector<std::uint32_t> left_over = filtered_search_.search(search, lists);
    if (!left_over.empty()) search_left_over(search, left_over, lists);
  }

  void search_left_over(const VectorSearch& search, const std::vector<std::uint32_t>& left_over,
                        std::span<VectorNeighbor> lists) {
    std::vector<float> queries;
    queries.reserve(left_over.size() * dimension_);
    for (const std::uint32_t query : left_over) {
      const auto row = search.queries.row(query);
      queries.insert(queries.end(), row.begin(), row.end());
    }
    VectorSearch rest = search;
    rest.queries = {queries, dimension_};
    if (search.on_progress)
      rest.on_progress = [&](std::uint64_t done) {
        search.on_progress(search.queries.rows() - left_over.size() + done);
      };
    std::vector<VectorNeighbor> found(left_over.size() * search.k);
    search_panels(
        rest, [&](std::uint32_t query) { return search.first_self + left_over[query]; }, found);
    for (std::size_t i = 0; i < left_over.size(); ++i)
      std::copy_n(found.data() + i * search.k, search.k,
                  lists.data() + std::size_t{left_over[i]} * search.k);
  }

  /// If the corpus has shadows or a tree but no panels yet, makes the panels.
  void make_panels() {
    if (has_rows_ && panels_.rows() != rows_.rows())
      panels_ = VectorPanels(rows_, scan_panel_rows(), pool_);
  }

  ThreadPool pool_;
  PanelSearch panel_search_;
  FilteredSearch filtered_search_;
  RadiusScan radius_scan_;
  RowFilter filter_;
  Metric metric_ = Metric::l2;
  VectorPanels panels_;
  RowTree tree_;                   ///< empty: the corpus is in no tree
  std::unique_ptr<float[]> copy_;  ///< the corpus, unless it is borrowed or only in panels
  CorpusRows rows_;                ///< the corpus, unless it is only in panels
  bool has_rows_ = false;          ///< the corpus is in rows_
  std::uint32_t dimension_ = 0;
  std::uint32_t row_count_ = 0;  ///< number of rows of the corpus, also if only in panels
  std::vector<VectorNeighbor> merged_;
};

}  // namespace

std::unique_ptr<VectorSearcher> make_panel_searcher(unsigned threads, RowFilter filter) {
  return std::make_unique<CpuVectorSearcher>(threads, filter);
}

}  // namespace starling::cpu
