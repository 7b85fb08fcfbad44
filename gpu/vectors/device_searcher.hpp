// SPDX-License-Identifier: Apache-2.0
// One GPU as a VectorSearcher. Several DeviceSearchers can also answer together: split_searcher.cpp
// gives rows and queries to each of them, and merges the lists.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/device_vectors.hpp"
#include "starling/gpu/vectors/exchange/shared_lists.hpp"
#include "starling/gpu/vectors/methods/method.hpp"
#include "starling/gpu/vectors/scan/workspace.hpp"
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
  double device_ms() const override { return device_ms_; }
  DeviceRates rates() override;

  int device() const { return device_; }
  /// Whether all rows fit the device at once.
  bool fits(VectorsView corpus) const;
  /// As set_corpus, but `rows` are only a part of a corpus; its other rows are on other devices.
  /// Row 0 of `rows` has the number first_row in the corpus.
  void set_rows(Metric metric, VectorsView rows, VectorRow first_row);

  // The steps of a search by several devices: prepare, make room, find (one thread for each
  // device), exchange. When find_lists() or find_graph() returns, the found lists are on the
  // device. Each function throws the same errors as set_corpus.

  /// The first step of a search.
  void prepare_shared(SearchMethod method);
  /// Returns the number of queries for which this device has room at once, at least 1.
  std::uint32_t shared_queries_max(std::uint32_t k, std::uint32_t devices) const;
  /// Returns the side of the grids with which the prepared method can compute this device's share
  /// of the graph of the whole corpus. Returns 0 if the method cannot do that, or if this device
  /// does not hold the whole corpus.
  std::uint32_t graph_side(std::uint32_t k, std::uint32_t devices) const;
  void make_room(std::optional<SharedLists>& lists, const SharedLists::Shape& shape);
  /// Finds the lists of search.queries among the rows of this device.
  void find_lists(const VectorSearch& search, SharedLists& lists);
  /// Finds lists of all rows, from the pairs that are this device's share of the graph.
  void find_graph(std::uint32_t k, const GraphShare& share, SharedLists& lists);

  /// The exchange counts as device time too: call begin_exchange(), enqueue the exchange, then call
  /// merge_async().
  void begin_exchange() { started_.record(stream_); }
  void merge_async(SharedLists& lists, std::uint32_t share, std::uint32_t k, std::uint32_t devices);
  /// Returns false once all enqueued work is done. Throws DeviceError if the work failed.
  bool is_busy() const { return stream_.is_busy(); }
  /// Waits for the enqueued work and ignores its errors.
  void drain() const noexcept { stream_.drain(); }
  /// Copies the merged lists to `merged` and waits for them.
  void end_exchange(const SharedLists& lists, std::span<VectorNeighbor> merged);

 private:
  /// A part of the corpus. Its lists are merged with those of the parts before it.
  struct Part {
    std::uint32_t number = 0;
    std::uint32_t count = 1;
  };

  /// The published method in use, with row-major rows of the corpus. An automatic search frees it.
  struct MethodAtHand {
    MethodAtHand(DeviceMemory& memory, SearchMethod wanted) : name(wanted), components(memory) {}
    SearchMethod name;
    std::unique_ptr<VectorMethod> method;
    DeviceBuffer<float> components;  ///< at most part_rows rows
    std::uint32_t part_rows = 0;
    std::uint64_t bytes_left = 0;  ///< not taken by `components` or the method
    bool holds_all = false;        ///< whether the whole corpus has been unpacked
  };

  static std::uint64_t transfer_bytes(std::uint32_t dimension, std::uint32_t k);
  static std::uint64_t transfer_bytes_min();
  static std::uint64_t bytes_beside_rows(std::uint32_t dimension);
  void plan_memory(VectorsView corpus);
  void prepare(SearchMethod method);
  void take_method(SearchMethod name);
  void read_rows_async(VectorRow begin, std::uint32_t count);
  RowMajorView method_rows(std::uint32_t part) const;
  VectorsView kept_rows(VectorRow begin, std::uint32_t count) const;
  /// Calls work(search_async, part) for each part of the rows in turn; search_async searches that
  /// part by the prepared method. `work` must wait for the CUDA stream.
  template <class Work>
  void for_each_part(const Work& work);
  template <class SearchAsync>
  void search_part(const SearchAsync& search_async, const VectorSearch& search,
                   std::span<VectorNeighbor> lists, const Part& part);
  template <class Enqueue>
  void run_timed(const Enqueue& enqueue);

  int device_;
  bool may_filter_;
  std::uint64_t bytes_max_;
  DeviceMemory memory_;
  CudaStream stream_;
  Event started_;
  Event finished_;
  double device_ms_ = 0;  ///< of the last search
  Metric metric_ = Metric::l2;
  std::uint32_t dimension_ = 1;
  std::uint32_t rows_ = 0;
  VectorRow first_row_ = 0;
  Shadow shadow_ = Shadow::none;  ///< of a corpus that is resident as a whole
  std::uint32_t part_rows_ = 0;   ///< rows of the corpus that are on the device at once
  std::uint64_t workspace_bytes_ = 0;
  std::uint64_t transfer_bytes_ = 0;
  std::vector<float> kept_;  ///< all rows, if they do not fit the device
  std::optional<DeviceVectors> resident_;
  std::optional<VectorWorkspace> workspace_;
  std::optional<MethodAtHand> method_;
};

}  // namespace starling::gpu
