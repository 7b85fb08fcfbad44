// SPDX-License-Identifier: Apache-2.0
// Implements VectorSearcher: checks the search, owns the corpus, and tells PanelSearch which rows
// the queries skip. See searcher.hpp.
#include "starling/cpu/vectors/searcher.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "starling/cpu/vectors/panel_search.hpp"
#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/rates.hpp"
#include "starling/cpu/vectors/scan.hpp"
#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/thread_pool.hpp"

namespace starling::cpu {
namespace {

class CpuVectorSearcher final : public VectorSearcher {
 public:
  explicit CpuVectorSearcher(unsigned threads)
      : pool_(threads == 0 ? std::max(1u, std::thread::hardware_concurrency()) : threads),
        search_(pool_) {}

  std::string_view name() const override { return "cpu"; }
  bool supports(SearchMethod method) const override { return method == SearchMethod::automatic; }

  DeviceRates rates() override { return measure_rates(pool_); }

  void set_corpus(Metric metric, VectorsView corpus) override {
    check_invariant(corpus.dimension >= 1 && corpus.dimension <= dimension_max,
                    "the dimension of a corpus is 1 to dimension_max");
    corpus_ = VectorPanels();
    metric_ = metric;
    corpus_ = VectorPanels(corpus, scan_panel_rows(), pool_);
  }

  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    if (!supports(search.method))
      throw std::invalid_argument(
          "the cpu searcher has only one method: use SearchMethod::automatic");
    check_search(search, corpus_.dimension(), lists.size());
    PanelQuestion question{.metric = metric_,
                           .corpus = corpus_,
                           .queries = search.queries,
                           .k = search.k,
                           .on_progress = search.on_progress};
    if (search.first_self != no_row)
      question.choose = [self = search.first_self](NearestRows& nearest, std::uint32_t first,
                                                   std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) nearest.pass_over(i, self + first + i);
      };
    search_.nearest(question, lists);
    if (search.on_progress) search.on_progress(search.queries.rows());
  }

 private:
  ThreadPool pool_;
  PanelSearch search_;
  Metric metric_ = Metric::l2;
  VectorPanels corpus_;
};

}  // namespace

std::unique_ptr<VectorSearcher> make_panel_searcher(unsigned threads) {
  return std::make_unique<CpuVectorSearcher>(threads);
}

}  // namespace starling::cpu
