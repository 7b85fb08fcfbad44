// SPDX-License-Identifier: Apache-2.0
// Implements the searcher of searcher.hpp. It owns the corpus, checks each search, chooses among
// RowTree, FilteredSearch and PanelSearch, and tells PanelSearch which rows the queries skip.
#include "starling/cpu/vectors/searcher.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "starling/cpu/vectors/filtered_search.hpp"
#include "starling/cpu/vectors/panel_search.hpp"
#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/rates.hpp"
#include "starling/cpu/vectors/scan.hpp"
#include "starling/cpu/vectors/tree/row_tree.hpp"
#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/recipe.hpp"

namespace starling::cpu {
namespace {

// Shadows save time if rows have at least dimension_min components, and if the corpus has at least
// list_work components for each entry of a list: every entry costs time, because candidates are
// added and dropped. A shorter list counts as one of list_min entries.
// docs/decisions/0012-integer-filter.md has the measurements.
struct FilterLimits {
  std::size_t dimension_min;
  std::size_t product_dimension_min;  ///< for the inner product, whose scores are cheaper
  std::size_t list_work;
};
constexpr FilterLimits fused_limits{96, 256, std::size_t{1} << 16};
constexpr FilterLimits emulated_limits{2, 2, std::size_t{1} << 9};  // no fused multiply-add
constexpr std::uint32_t list_min = 16;

// A tree should save time if the corpus has at least this many rows for each entry of a list. The
// number is a guess; a graph of 200,000 rows with k 8, far above it, takes a tenth of the time.
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
        filter_(filter) {}

  std::string_view name() const override { return "cpu"; }
  bool supports(SearchMethod method) const override { return method == SearchMethod::automatic; }

  DeviceRates rates() override { return measure_rates(pool_); }

  void set_corpus(Metric metric, VectorsView corpus) override {
    take_corpus(metric, corpus, Taken::copied);
  }
  bool borrow_corpus(Metric metric, VectorsView corpus) override {
    take_corpus(metric, corpus, Taken::borrowed);
    return has_rows_;
  }

  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    if (!supports(search.method))
      throw std::invalid_argument(
          "the cpu searcher has only one method: use SearchMethod::automatic");
    check_search(search, rows_.dimension, lists.size());
    if (!tree_.is_empty() && should_use_tree(rows_, search.k))
      tree_.search(search, pool_, lists);
    else if (tree_.is_empty() && has_rows_ && should_filter(rows_, search.k))
      search_filtered(search, lists);
    else
      search_panels(search, lists);
    if (search.on_progress) search.on_progress(search.queries.rows());
  }

 private:
  static constexpr std::size_t copy_grain = std::size_t{1} << 16;

  bool should_use_tree(VectorsView corpus, std::uint32_t k) const {
    if (recipe_of(metric_) != Recipe::squared_differences || corpus.rows() == 0 ||
        corpus.dimension > RowTree::dimension_max)
      return false;
    if (filter_ == RowFilter::tree) return true;
    return filter_ == RowFilter::automatic &&
           corpus.rows() / tree_rows_an_entry >= std::max(k, list_min);
  }

  bool should_filter(VectorsView corpus, std::uint32_t k) const {
    if (!has_filter(recipe_of(metric_))) return false;
    if (filter_ != RowFilter::automatic) return filter_ == RowFilter::always;
    return saves_time(metric_, corpus.rows(), corpus.dimension, k);
  }

  enum class Taken : std::uint8_t { copied, borrowed };

  void take_corpus(Metric metric, VectorsView corpus, Taken taken) {
    check_invariant(corpus.dimension >= 1 && corpus.dimension <= dimension_max,
                    "the dimension of a corpus is 1 to dimension_max");
    panels_ = VectorPanels();
    filtered_search_.clear();
    copy_.reset();
    tree_ = RowTree();
    rows_ = {{}, 0};
    has_rows_ = false;
    metric_ = metric;
    const bool uses_tree = should_use_tree(corpus, list_min);
    if (!uses_tree && !should_filter(corpus, 1)) {
      panels_ = VectorPanels(corpus, scan_panel_rows(), pool_);
      rows_ = {{}, corpus.dimension};
      return;
    }
    std::unique_ptr<float[]> copied;
    VectorsView rows = corpus;
    if (taken == Taken::copied) {
      copied = copy_of(corpus);
      rows.components = {copied.get(), corpus.components.size()};
    }
    if (uses_tree)
      tree_ = RowTree(rows);
    else
      filtered_search_.set_corpus(metric, rows);
    copy_ = std::move(copied);
    rows_ = rows;
    has_rows_ = true;
  }

  std::unique_ptr<float[]> copy_of(VectorsView corpus) {
    const std::span<const float> from = corpus.components;
    auto copied = std::make_unique_for_overwrite<float[]>(from.size());
    pool_.for_ranges(from.size(), copy_grain, [&](std::size_t begin, std::size_t end, unsigned) {
      std::copy_n(from.data() + begin, end - begin, copied.get() + begin);
    });
    return copied;
  }

  /// `choose` becomes PanelQuestion::choose if the queries are rows of the corpus.
  template <class Choose>
  void search_panels(const VectorSearch& search, const Choose& choose,
                     std::span<VectorNeighbor> lists) {
    make_panels();
    PanelQuestion question{.metric = metric_,
                           .corpus = panels_,
                           .queries = search.queries,
                           .k = search.k,
                           .on_progress = search.on_progress};
    if (search.first_self != no_row) question.choose = choose;
    panel_search_.nearest(question, lists);
  }

  void search_panels(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    const auto choose = [&](NearestRows& nearest, std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i) nearest.pass_over(i, search.first_self + first + i);
    };
    search_panels(search, choose, lists);
  }

  void search_filtered(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    const std::vector<std::uint32_t> left_over = filtered_search_.search(search, lists);
    if (!left_over.empty()) search_left_over(search, left_over, lists);
  }

  void search_left_over(const VectorSearch& search, const std::vector<std::uint32_t>& left_over,
                        std::span<VectorNeighbor> lists) {
    std::vector<float> queries;
    queries.reserve(left_over.size() * rows_.dimension);
    for (const std::uint32_t query : left_over) {
      const auto row = search.queries.row(query);
      queries.insert(queries.end(), row.begin(), row.end());
    }
    VectorSearch rest = search;
    rest.queries = {queries, rows_.dimension};
    if (search.on_progress)
      rest.on_progress = [&](std::uint64_t done) {
        search.on_progress(search.queries.rows() - left_over.size() + done);
      };
    const auto choose = [&](NearestRows& nearest, std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i)
        nearest.pass_over(i, search.first_self + left_over[first + i]);
    };
    std::vector<VectorNeighbor> found(left_over.size() * search.k);
    search_panels(rest, choose, found);
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
  RowFilter filter_;
  Metric metric_ = Metric::l2;
  VectorPanels panels_;
  RowTree tree_;                   ///< empty: the corpus is in no tree
  std::unique_ptr<float[]> copy_;  ///< the corpus, unless it is borrowed or only in panels
  VectorsView rows_;               ///< the corpus; if it is only in panels: only its dimension
  bool has_rows_ = false;          ///< the corpus is in rows_
};

}  // namespace

std::unique_ptr<VectorSearcher> make_panel_searcher(unsigned threads, RowFilter filter) {
  return std::make_unique<CpuVectorSearcher>(threads, filter);
}

}  // namespace starling::cpu
