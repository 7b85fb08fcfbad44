// SPDX-License-Identifier: Apache-2.0
// The VectorSearcher on one GPU. Several DeviceSearchers can also answer a search together:
// split_searcher.cpp gives rows and queries to each of them, and merges their lists.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <vector>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/device_vectors.hpp"
#include "starling/gpu/vectors/corpus/row_upload.hpp"
#include "starling/gpu/vectors/exchange/device_share.hpp"
#include "starling/gpu/vectors/exchange/shared_lists.hpp"
#include "starling/gpu/vectors/graph_tiles.hpp"
#include "starling/gpu/vectors/memory_plan.hpp"
#include "starling/gpu/vectors/methods/method.hpp"
#include "starling/gpu/vectors/scan/workspace.hpp"
#include "starling/gpu/vectors/search_pipeline.hpp"
#include "starling/gpu/vectors/searcher_options.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::gpu {

class DeviceSearcher final : public VectorSearcher {
 public:
  explicit DeviceSearcher(const VectorSearcherOptions& options);

  std::string_view name() const override { return "cuda"; }
  bool supports(SearchMethod method) const override;
  void set_corpus(Metric metric, VectorsView corpus) override { set_rows(metric, corpus, 0); }
  void search(const VectorSearch& search, std::span<VectorNeighbor> lists) override;
  void search_graph(const GraphSearch& graph, const TakeLists& take) override;
  void set_corpus_and_search(Metric metric, VectorsView corpus, const VectorSearch& search,
                             std::span<VectorNeighbor> lists) override;
  std::pmr::memory_resource& host_memory() override { return pinned_memory(); }
  double device_ms() const override { return device_ms_; }
  DeviceRates rates() override;

  int device() const { return device_; }
  /// Returns true if all rows of `corpus` fit into this searcher's device memory at once.
  bool fits(VectorsView corpus) const { return fits_memory(corpus, bytes_max_); }
  /// Does the same as set_corpus, but `rows` may be only a part of a corpus, whose other rows are
  /// on other devices. Row 0 of `rows` has the number first_row in the corpus.
  void set_rows(Metric metric, VectorsView rows, VectorRow first_row);

  // The functions below are the steps of a search by several devices: prepare_shared(),
  // make_room(), find_lists() or find_graph() and write_graph(), and the exchange. Different
  // devices may take a step at the same time, each on a thread of its own. When find_lists() or
  // write_graph() returns, the found lists are on the device. Each function throws the same errors
  // as set_corpus.

  /// The first step: prepares a search by `method`.
  void prepare_shared(SearchMethod method);
  /// Returns the number of queries whose vectors and lists fit this device at once; at least 1.
  /// `devices` is the number of devices that share the search.
  std::uint32_t shared_queries_max(std::uint32_t k, std::uint32_t devices) const;
  /// Returns the number of rows of a graph whose lists fit this device at once, in addition to what
  /// find_graph() keeps; at least 1.
  std::uint32_t shared_rows_max(std::uint32_t k, std::uint32_t devices) const;
  /// Returns the side of the grids with which the prepared method can compute this device's share
  /// of the graph of the whole corpus. Returns 0 if the method cannot do that, if this device does
  /// not hold the whole corpus, or if the metric is not symmetric.
  std::uint32_t graph_side(std::uint32_t k, std::uint32_t devices) const;
  void make_room(std::optional<SharedLists>& lists, const SharedLists::Shape& shape);
  /// Finds the lists of search.queries among the rows of this device.
  void find_lists(const VectorSearch& search, SharedLists& lists);
  /// Finds a list for every row, among the pairs of rows that are this device's share of the graph.
  /// The method keeps these lists. Call it only if graph_side() is not 0.
  void find_graph(std::uint32_t k, const GraphShare& share);
  /// Writes the lists of rows [first, first + count) to `lists`. Call it after find_graph(), as
  /// often as needed.
  void write_graph(std::uint32_t first, std::uint32_t count, SharedLists& lists);

  /// Returns true if search_share_async() can take this search: its method is automatic, its
  /// queries and lists fit this device at once, and this device holds the whole corpus.
  bool may_search_share(const VectorSearch& search) const;
  /// Enqueues a search of rows [share.begin, share.begin + share.count) of the corpus, which this
  /// device holds as a whole. `share.begin` is a multiple of shadow_tile_rows.
  void search_share_async(const VectorSearch& search, const DeviceShare& share);
  /// Waits for the search that was enqueued last and copies its lists to `lists`.
  void end_share(std::span<VectorNeighbor> lists);

  /// Device time includes the exchange. To measure the exchange, call begin_exchange(), enqueue the
  /// exchange, and then call merge_async().
  void begin_exchange() { started_.record(stream_); }
  void merge_async(SharedLists& lists, std::uint32_t share, std::uint32_t k, std::uint32_t devices);
  /// Returns false once all enqueued work is done. Throws DeviceError if the work failed.
  bool is_busy() const { return stream_.is_busy(); }
  /// Waits for the enqueued work and ignores its errors.
  void drain() const noexcept { stream_.drain(); }
  /// Copies the merged lists to `merged` and waits for them.
  void end_exchange(const SharedLists& lists, std::span<VectorNeighbor> merged);

 private:
  /// One part of the corpus. The lists found in a part are merged with those of the parts before
  /// it.
  struct Part {
    std::uint32_t number = 0;
    std::uint32_t count = 1;
  };

  /// Enqueues a search of one part of the rows by the prepared method.
  using SearchAsync = std::function<void(const DeviceSearch&)>;
  using WorkOnPart = std::function<void(const SearchAsync&, const Part&)>;

  /// The published method in use, and row-major rows of the corpus for it. A search with
  /// SearchMethod::automatic frees both.
  struct MethodAtHand {
    MethodAtHand(DeviceMemory& memory, SearchMethod wanted) : name(wanted), components(memory) {}
    SearchMethod name;
    std::unique_ptr<VectorMethod> method;
    DeviceBuffer<float> components;  ///< room for part_rows rows
    std::uint32_t part_rows = 0;
    bool holds_all = false;  ///< whether `components` holds all rows
  };

  std::uint32_t shared_lists_max(SharedLists::Shape shape) const;
  void begin_rows(Metric metric, VectorsView rows, VectorRow first_row);
  void upload_rows();
  /// Returns an Arrival that packs the next piece of `upload_` into `vectors`.
  auto arrival_in(DeviceVectors& vectors) {
    return [this, &vectors] { return vectors.pack_next_async(upload_, stream_); };
  }
  void search_resident_async(const DeviceSearch& search, const DeviceShare& share);
  void search_arriving_async(const DeviceSearch& search);
  void search_arriving_by_method_async(DeviceSearch search);
  DeviceSearch copy_queries_async(const VectorSearch& search);
  static DeviceSearch device_search(const VectorSearch& search, Piece piece, const float* queries,
                                    VectorNeighbor* lists);
  void make_transfer_room(std::size_t floats, std::size_t entries, std::size_t slots,
                          std::size_t others);
  void make_piece_room(std::uint32_t piece_max, std::uint32_t count, std::uint32_t k);
  void free_transfer_room();
  void prepare(SearchMethod method);
  void take_method(SearchMethod name);
  void read_rows_async(VectorRow begin, std::uint32_t count);
  void copy_rows_async(VectorsView rows, float* to);
  RowMajorView method_rows(std::uint32_t part) const;
  VectorsView kept_rows(VectorRow begin, std::uint32_t count) const;
  /// Calls work(search_async, part) for one part of the rows after another. search_async enqueues a
  /// search of that part by the prepared method. If the corpus is not resident, `work` must wait
  /// for the CUDA stream before it returns.
  void for_each_part(const WorkOnPart& work);
  std::uint32_t piece_queries(const VectorSearch& search) const;
  PieceSteps steps_of(const VectorSearch& search, const SearchAsync& search_async);
  void search_part(const SearchAsync& search_async, const VectorSearch& search,
                   std::span<VectorNeighbor> lists, const Part& part);
  /// Finds the graph with the prepared method, in grids of this side, and passes its lists to
  /// `tiles`.
  void search_grids(std::uint32_t side, const GraphTiles& tiles);
  void search_tiles(const GraphSearch& graph, const TakeLists& take);
  void run_timed(const std::function<void()>& enqueue);

  int device_;
  FilterOptions filter_;
  std::uint64_t bytes_max_;
  DeviceMemory memory_;
  CudaStream stream_;
  Event started_;
  Event finished_;
  double device_ms_ = 0;  ///< device time of the last search
  Metric metric_ = Metric::l2;
  std::uint32_t dimension_ = 1;
  std::uint32_t rows_ = 0;
  VectorRow first_row_ = 0;
  std::uint32_t searches_for_shadow_ = 0;  ///< searches so far that a shadow would have served
  MemoryPlan plan_;
  bool has_corpus_ = false;
  std::vector<float> kept_;  ///< all rows, if the device has no room for all at once
  RowUpload upload_;
  SearchPipeline pipeline_;
  /// Lists found in a later part of the rows, until they are merged with the lists of a slot.
  DeviceBuffer<VectorNeighbor> others_;
  PinnedBuffer<VectorNeighbor> tile_;  ///< a tile of a graph, on its way to TakeLists
  std::optional<DeviceVectors> resident_;
  std::optional<VectorWorkspace> workspace_;
  std::optional<MethodAtHand> method_;
};

}  // namespace starling::gpu
