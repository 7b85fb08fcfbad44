// How a search is shared among threads. Many queries: each thread takes a block of them through the
// whole corpus. Few: all threads take parts of the corpus, whichever is next, for the same queries,
// and what they have met is merged. The order of (score, row) is total, so neither shows.
#include "cpu/vector_searcher.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cpu/nearest_rows.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/vector_panels.hpp"
#include "cpu/vector_rates.hpp"
#include "cpu/vector_scan.hpp"
#include "knn/assert.hpp"

namespace starling::cpu {
namespace {

// Half the second-level cache that server cores have today: panels of so many bytes are read from
// there by all the queries of a block.
constexpr std::size_t part_bytes = std::size_t{1} << 19;
constexpr std::uint32_t block_queries_max = 128;
constexpr std::uint32_t block_queries_min = 16;
constexpr std::size_t blocks_per_thread = 4;  // evens out threads that are held up

struct QueryBlock {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class CpuVectorSearcher final : public VectorSearcher {
 public:
  explicit CpuVectorSearcher(unsigned threads)
      : pool_(threads == 0 ? std::max(1u, std::thread::hardware_concurrency()) : threads),
        scratch_(pool_.threads()) {}

  std::string_view name() const override { return "cpu"; }
  bool supports(SearchMethod method) const override { return method == SearchMethod::automatic; }

  DeviceRates rates() override { return measure_rates(pool_); }

  void set_corpus(Metric metric, VectorsView corpus) override {
    check_invariant(corpus.dimension >= 1 && corpus.dimension <= dimension_max,
                    "rows have 1 to dimension_max components");
    corpus_ = VectorPanels();
    metric_ = metric;
    corpus_ = VectorPanels(corpus, scan_panel_rows(), pool_);
    part_panels_ = std::max<std::size_t>(1, part_bytes / corpus_.panel_bytes());
    parts_ = (corpus_.panels() + part_panels_ - 1) / part_panels_;
  }

  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    if (!supports(search.method))
      throw std::invalid_argument(
          "the cpu searcher has no method to choose: ask for SearchMethod::automatic");
    const std::uint32_t queries = search.queries.rows();
    check_search(search, corpus_.dimension(), lists.size());
    const std::uint32_t block = block_queries(queries);
    const std::size_t blocks = (std::size_t{queries} + block - 1) / block;
    if (block == block_queries_max || blocks >= parts_)
      search_blocks(search, block, blocks, lists);
    else
      search_parts(search, lists);
    if (search.on_progress) search.on_progress(queries);
  }

 private:
  struct Scratch {
    QueryTiles tiles;
    NearestRows nearest;
    NearestRows merged;  ///< one query's, of all threads
  };

  // So many queries that each thread gets a few blocks, if that leaves blocks of a useful size.
  std::uint32_t block_queries(std::uint32_t queries) const {
    const auto shares = static_cast<std::uint32_t>(blocks_per_thread * pool_.threads());
    return std::clamp(queries / shares, block_queries_min, block_queries_max);
  }

  PanelRange panels_of_part(std::size_t part) const {
    return {part * part_panels_, std::min((part + 1) * part_panels_, corpus_.panels())};
  }

  void scan_part(std::size_t part, const QueryTiles& tiles, NearestRows& nearest) const {
    const PanelRange panels = panels_of_part(part);
    nearest.go_on_from(static_cast<VectorRow>(panels.begin * corpus_.panel_rows()));
    scan({metric_, corpus_, panels, tiles}, nearest);
  }

  static VectorRow self_of(const VectorSearch& search, std::uint32_t query) {
    return search.first_self == no_row ? no_row : search.first_self + query;
  }

  static std::span<VectorNeighbor> list_of(const VectorSearch& search,
                                           std::span<VectorNeighbor> lists, std::uint32_t query) {
    return lists.subspan(std::size_t{query} * search.k, search.k);
  }

  // Each thread takes blocks of queries through the corpus.
  void search_blocks(const VectorSearch& search, std::uint32_t block, std::size_t blocks,
                     std::span<VectorNeighbor> lists) {
    const std::uint32_t queries = search.queries.rows();
    std::atomic<std::uint64_t> queries_done{0};
    pool_.run(blocks, [&](std::size_t number, unsigned thread) {
      const auto first = static_cast<std::uint32_t>(number * block);
      const std::uint32_t count = std::min(block, queries - first);
      QueryTiles& tiles = scratch_[thread].tiles;
      NearestRows& nearest = scratch_[thread].nearest;
      tiles.pack(search.queries, first, count);
      nearest.start(count, search.k, self_of(search, first));
      for (std::size_t part = 0; part < parts_; ++part) scan_part(part, tiles, nearest);
      for (std::uint32_t i = 0; i < count; ++i) nearest.write(i, list_of(search, lists, first + i));
      const std::uint64_t done = queries_done += count;
      const bool is_caller = thread == 0;
      if (is_caller && done < queries && search.on_progress) search.on_progress(done);
    });
  }

  // All threads take parts of the corpus, for some queries after the others.
  void search_parts(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    const std::uint32_t queries = search.queries.rows();
    for (std::uint32_t first = 0; first < queries; first += block_queries_max) {
      if (first > 0 && search.on_progress) search.on_progress(first);
      const std::uint32_t count = std::min(block_queries_max, queries - first);
      tiles_.pack(search.queries, first, count);
      for (Scratch& scratch : scratch_)
        scratch.nearest.start(count, search.k, self_of(search, first));
      pool_.run(parts_, [&](std::size_t part, unsigned thread) {
        scan_part(part, tiles_, scratch_[thread].nearest);
      });
      pool_.run(count, [&](std::size_t i, unsigned thread) {
        NearestRows& merged = scratch_[thread].merged;
        merged.start(1, search.k, no_row);
        for (const Scratch& scratch : scratch_) merged.add_all(scratch.nearest, i);
        merged.write(0, list_of(search, lists, first + static_cast<std::uint32_t>(i)));
      });
    }
  }

  ThreadPool pool_;
  std::vector<Scratch> scratch_;  ///< by thread
  QueryTiles tiles_;              ///< that all threads read
  Metric metric_ = Metric::l2;
  VectorPanels corpus_;
  std::size_t part_panels_ = 1;
  std::size_t parts_ = 0;
};

}  // namespace

std::unique_ptr<VectorSearcher> make_vector_searcher(unsigned threads) {
  return std::make_unique<CpuVectorSearcher>(threads);
}

}  // namespace starling::cpu
