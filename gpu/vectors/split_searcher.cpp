// SPDX-License-Identifier: Apache-2.0
// Drives one DeviceSearcher for each GPU, each on a thread of its own. Divides queries, rows or
// grids among the GPUs. A ListExchange passes lists between the GPUs: see split_searcher.hpp.
#include "starling/gpu/vectors/split_searcher.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <memory_resource>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "starling/gpu/vectors/corpus/shadow.hpp"
#include "starling/gpu/vectors/device_searcher.hpp"
#include "starling/gpu/vectors/exchange/device_share.hpp"
#include "starling/gpu/vectors/exchange/host_merge.hpp"
#include "starling/gpu/vectors/exchange/list_exchange.hpp"
#include "starling/gpu/vectors/graph_tiles.hpp"
#include "starling/knn/base/usage.hpp"

namespace starling::gpu {
namespace {

/// The limits of searches that the devices divide by rows although each device holds all rows. A
/// tile of the filter has 128 queries and takes as long with fewer queries. The host merges 8,192
/// entries in about 30 us. In smaller corpora, starting a search takes most of its time.
struct SplitTuning {
  static constexpr std::uint64_t few_queries = 128;
  static constexpr std::uint64_t few_entries = 8192;
  static constexpr std::uint64_t few_components_min = std::uint64_t{1} << 24;
};

/// Returns a search of `count` queries of `search`, from query `begin` on, without progress
/// reports.
VectorSearch part_of(const VectorSearch& search, std::uint64_t begin, std::uint64_t count) {
  const std::size_t dimension = search.queries.dimension;
  VectorSearch part = search;
  part.queries.components = search.queries.components.subspan(begin * dimension, count * dimension);
  if (search.first_self != no_row) part.first_self += static_cast<VectorRow>(begin);
  part.on_progress = nullptr;
  return part;
}

class SplitSearcher final : public VectorSearcher {
 public:
  SplitSearcher(std::span<const VectorSearcherOptions> devices, const SplitOptions& options)
      : options_(options) {
    for (const VectorSearcherOptions& device : devices)
      devices_.push_back(std::make_unique<DeviceSearcher>(device));
  }

  std::pmr::memory_resource& host_memory() override { return devices_.front()->host_memory(); }
  std::string_view name() const override { return devices_.front()->name(); }
  bool supports(SearchMethod method) const override { return devices_.front()->supports(method); }

  double device_ms() const override { return device_ms_; }

  /// Returns the sums of the rates of all devices.
  DeviceRates rates() override {
    std::vector<DeviceRates> of_each(devices_.size());
    on_each([&](std::size_t i) { of_each[i] = devices_[i]->rates(); });
    DeviceRates all;
    for (const DeviceRates& rates : of_each) {
      all.read_gb_per_s += rates.read_gb_per_s;
      all.steps_per_s += rates.steps_per_s;
    }
    return all;
  }

  void set_corpus(Metric metric, VectorsView corpus) override {
    is_sharded_ =
        options_.placement == RowPlacement::shares ||
        !std::ranges::all_of(devices_, [&](const auto& device) { return device->fits(corpus); });
    rows_ = corpus.rows();
    dimension_ = corpus.dimension;
    // The exchange needs device memory, and must be made before the rows take it all.
    if (is_sharded_) make_exchange();
    on_each([&](std::size_t i) {
      const DeviceShare share =
          is_sharded_ ? share_of(rows_, i, devices_.size()) : DeviceShare{0, corpus.rows()};
      const VectorsView rows = {
          corpus.components.subspan(share.begin * corpus.dimension, share.count * corpus.dimension),
          corpus.dimension};
      devices_[i]->set_rows(metric, rows, static_cast<VectorRow>(share.begin));
    });
  }

  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override {
    check_search(search, dimension_, rows_, lists.size());
    const bool is_graph = search.first_self == 0 && search.queries.rows() == rows_;
    if (is_sharded_)
      search_rows_in_shares(search, lists);
    else if (is_for_rows_of_each(search))
      search_rows_of_each(search, lists);
    else if (const std::uint32_t side = is_graph ? prepare_graph(search.k, search.method) : 0)
      search_grids(side, GraphTiles(search, lists));
    else
      search_queries_in_shares(search, lists);
    device_ms_ = longest_ms();
  }

  void search_graph(const GraphSearch& graph, const TakeLists& take) override {
    check_graph(graph, dimension_);
    check_usage(graph.rows.rows() == rows_, "search_graph: there are ", graph.rows.rows(),
                " rows; the rows of a graph are those of the corpus, which has ", rows_);
    if (const std::uint32_t side = prepare_graph(graph.k, graph.method)) {
      search_grids(side, GraphTiles(graph, take));
      device_ms_ = longest_ms();
      return;
    }
    device_ms_ = search_graph_by_searches(*this, graph, take);
  }

 private:
  /// One element for each device: its lists during a search in which the lists of all devices are
  /// merged.
  using AllLists = std::vector<std::optional<SharedLists>>;

  std::uint32_t device_count() const { return static_cast<std::uint32_t>(devices_.size()); }

  /// Returns the longest of the times that the devices worked since the last search began.
  double longest_ms() const {
    double longest_ms = 0;
    for (const auto& device : devices_) longest_ms = std::max(longest_ms, device->device_ms());
    return longest_ms;
  }

  void search_queries_in_shares(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    const std::uint64_t count = search.queries.rows();
    on_each([&](std::size_t i) {
      const DeviceShare share = share_of(count, i, devices_.size());
      VectorSearch part = part_of(search, share.begin, share.count);
      // The caller's thread searches the first share. The progress of this share is reported as the
      // progress of all shares.
      if (i == 0 && search.on_progress)
        part.on_progress = [&](std::uint64_t done) {
          search.on_progress(done * count / share.count);
        };
      devices_[i]->search(part, lists.subspan(share.begin * search.k, share.count * search.k));
    });
    // The first share may be empty, and then reports nothing.
    if (search.on_progress) search.on_progress(count);
  }

  /// Returns true if each device should search a share of the rows although it holds all rows. A
  /// search of few queries takes as long as it takes to read the rows, so it does not get faster
  /// with fewer queries.
  bool is_for_rows_of_each(const VectorSearch& search) const {
    const std::uint64_t queries = search.queries.rows();
    const std::uint64_t components = std::uint64_t{rows_} * dimension_;
    return devices_.size() > 1 && queries > 0 && queries <= SplitTuning::few_queries &&
           queries * search.k <= SplitTuning::few_entries &&
           components >= SplitTuning::few_components_min &&
           std::ranges::all_of(
               devices_, [&](const auto& device) { return device->may_search_share(search); });
  }

  /// One thread enqueues the work of all devices, and the host merges the lists. Waking threads and
  /// passing lists between devices would take as long as the search itself.
  void search_rows_of_each(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    const std::uint64_t tiles = shadow_tiles(rows_);
    try {
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        const DeviceShare share = share_of(tiles, i, devices_.size());
        const std::uint64_t begin = share.begin * shadow_tile_rows;
        const std::uint64_t end = (share.begin + share.count) * shadow_tile_rows;
        devices_[i]->search_share_async(search,
                                        {begin, std::min<std::uint64_t>(end, rows_) - begin});
      }
      devices_.front()->end_share(lists);
      std::vector<VectorNeighbor> others(lists.size());
      for (std::size_t i = 1; i < devices_.size(); ++i) {
        devices_[i]->end_share(others);
        merge_lists(lists, others, search.k);
      }
    } catch (...) {
      for (const auto& device : devices_) device->drain();
      throw;
    }
    if (search.on_progress) search.on_progress(search.queries.rows());
  }

  void search_rows_in_shares(const VectorSearch& search, std::span<VectorNeighbor> lists) {
    on_each([&](std::size_t i) { devices_[i]->prepare_shared(search.method); });
    const std::uint32_t count = search.queries.rows();
    if (count == 0) return;
    make_exchange();
    SharedLists::Shape shape{count, search.k, device_count(), search.queries.dimension};
    for (const auto& device : devices_)
      shape.queries = std::min(shape.queries, device->shared_queries_max(search.k, device_count()));
    AllLists all(devices_.size());
    on_each([&](std::size_t i) { devices_[i]->make_room(all[i], shape); });
    for (std::uint32_t begin = 0; begin < count; begin += shape.queries) {
      const std::uint32_t piece = std::min(shape.queries, count - begin);
      const VectorSearch part = part_of(search, begin, piece);
      on_each([&](std::size_t i) { devices_[i]->find_lists(part, *all[i]); });
      merge(all, piece, search.k,
            lists.subspan(std::size_t{begin} * search.k, std::size_t{piece} * search.k));
      if (search.on_progress) search.on_progress(std::uint64_t{begin} + piece);
    }
  }

  /// Returns the side of the grids into which the devices divide the graph of the whole corpus.
  /// Returns 0 if the method does not divide graphs, or if a device does not hold the whole corpus
  /// or has too little memory.
  std::uint32_t prepare_graph(std::uint32_t k, SearchMethod method) {
    if (is_sharded_ || method != SearchMethod::kato) return 0;
    on_each([&](std::size_t i) { devices_[i]->prepare_shared(method); });
    std::uint32_t side = std::numeric_limits<std::uint32_t>::max();
    for (const auto& device : devices_)
      side = std::min(side, device->graph_side(k, device_count()));
    return side;
  }

  /// Divides a graph as in section IV of Kato & Hosino: each device finds lists of all rows from
  /// its rows of grids, and the lists are merged tile by tile.
  void search_grids(std::uint32_t side, const GraphTiles& tiles) {
    make_exchange();
    SharedLists::Shape shape{0, tiles.k(), device_count(), 0};
    std::uint32_t rows_max = std::numeric_limits<std::uint32_t>::max();
    for (const auto& device : devices_)
      rows_max = std::min(rows_max, device->shared_rows_max(tiles.k(), device_count()));
    shape.queries = tiles.tile_rows(rows_max);
    AllLists all(devices_.size());
    on_each([&](std::size_t i) {
      devices_[i]->make_room(all[i], shape);
      devices_[i]->find_graph(tiles.k(), {static_cast<std::uint32_t>(i), device_count(), side});
    });
    tiles.for_each(shape.queries, [&](std::uint32_t first, std::uint32_t count,
                                      std::span<VectorNeighbor> lists) {
      on_each([&](std::size_t i) { devices_[i]->write_graph(first, count, *all[i]); });
      merge(all, count, tiles.k(), lists);
    });
  }

  void make_exchange() {
    if (exchange_) return;
    std::vector<int> numbers;
    numbers.reserve(devices_.size());
    for (const auto& device : devices_) numbers.push_back(device->device());
    exchange_ = make_list_exchange(numbers, options_.transport);
  }

  /// Merges the lists that all devices have for the same queries; each device merges its share of
  /// the queries. If that fails, waits until no device uses the lists any more, because the caller
  /// then frees their memory.
  void merge(AllLists& all, std::uint32_t queries, std::uint32_t k,
             std::span<VectorNeighbor> merged) {
    try {
      merge_or_throw(all, queries, k, merged);
    } catch (...) {
      exchange_->abandon();
      exchange_.reset();
      for (const auto& device : devices_) device->drain();
      throw;
    }
  }

  void merge_or_throw(AllLists& all, std::uint32_t queries, std::uint32_t k,
                      std::span<VectorNeighbor> merged) {
    std::vector<ExchangeEnd> ends;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      devices_[i]->begin_exchange();
      ends.push_back(all[i]->end());
    }
    exchange_->exchange_async(ends, queries, k);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const auto share = static_cast<std::uint32_t>(share_of(queries, i, devices_.size()).count);
      devices_[i]->merge_async(*all[i], share, k, device_count());
    }
    // This loop polls all devices in turn. Waiting for one device after another could take for
    // ever, because a device may wait for another device that failed. is_busy() throws if a device
    // failed.
    while (is_any_busy()) std::this_thread::yield();
    on_each([&](std::size_t i) {
      const DeviceShare share = share_of(queries, i, devices_.size());
      devices_[i]->end_exchange(*all[i], merged.subspan(share.begin * k, share.count * k));
    });
  }

  bool is_any_busy() const {
    bool is_any = false;
    for (const auto& device : devices_) is_any = device->is_busy() || is_any;
    return is_any;
  }

  /// Calls work(i) for each device i: for device 0 on the caller's thread, for each other device on
  /// a thread of its own. Waits for all. If several calls failed, rethrows the error of the first
  /// of these devices.
  void on_each(const std::function<void(std::size_t)>& work) {
    std::vector<std::exception_ptr> errors(devices_.size());
    const auto run = [&](std::size_t i) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 1; i < devices_.size(); ++i) threads.emplace_back(run, i);
      run(0);
    }
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }

  SplitOptions options_;
  std::vector<std::unique_ptr<DeviceSearcher>> devices_;
  std::unique_ptr<ListExchange> exchange_;  ///< null: not needed so far, or abandoned
  bool is_sharded_ = false;
  std::uint32_t rows_ = 0;
  std::uint32_t dimension_ = 1;
  double device_ms_ = 0;  ///< device time of the last search
};

}  // namespace

std::unique_ptr<VectorSearcher> make_split_searcher(std::span<const VectorSearcherOptions> devices,
                                                    const SplitOptions& options) {
  check_usage(!devices.empty(), "make_vector_searcher: there is no device; name at least one");
  return std::make_unique<SplitSearcher>(devices, options);
}

}  // namespace starling::gpu
