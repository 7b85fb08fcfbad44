// One GPU as a VectorSearcher, and as one of several that answer together: split_searcher.cpp says
// who has which rows and queries, and merges what each finds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/vectors/corpus/device_vectors.hpp"
#include "gpu/vectors/exchange/shared_lists.hpp"
#include "gpu/vectors/methods/method.hpp"
#include "gpu/vectors/searcher.hpp"

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
  /// Whether all rows find room at once.
  bool fits(VectorsView corpus) const;
  /// As set_corpus, of rows that others have the rest of: row 0 is called first_row.
  void set_rows(Metric metric, VectorsView rows, VectorRow first_row);

  // One of several: prepare, room, find (by one thread a device), exchange. On the device when they
  // return: what find_* found. Each throws as set_corpus.

  /// Before all else of a search.
  void prepare_shared(SearchMethod method);
  /// Queries that it has room for at once, at least 1.
  std::uint32_t shared_queries_max(std::uint32_t k, std::uint32_t devices) const;
  /// The grids' side by which it could share out the graph of the whole corpus, which it holds,
  /// with the method that was prepared; 0: it could not.
  std::uint32_t graph_side(std::uint32_t k, std::uint32_t devices) const;
  void make_room(std::optional<SharedLists>& lists, const SharedLists::Shape& shape);
  /// Lists of these queries among its rows.
  void find_lists(const VectorSearch& search, SharedLists& lists);
  /// Lists of all rows, from the pairs that are its share of the graph.
  void find_graph(std::uint32_t k, const GraphShare& share, SharedLists& lists);

  /// Their time is the device's, too: begin, then the exchange is enqueued, then merge.
  void begin_exchange() { started_.record(stream_); }
  void merge_async(SharedLists& lists, std::uint32_t share, std::uint32_t k, std::uint32_t devices);
  /// False once all that was enqueued is done. Throws what the device says.
  bool is_busy() const { return stream_.is_busy(); }
  /// Waits for what was enqueued, whatever becomes of it.
  void drain() const noexcept { stream_.drain(); }
  /// Waits for `merged` to be written.
  void end_exchange(const SharedLists& lists, std::span<VectorNeighbor> merged);

 private:
  /// Of the corpus: its lists are merged with those of the parts before.
  struct Part {
    std::uint32_t number = 0;
    std::uint32_t count = 1;
  };

  /// A method at hand, with rows of the corpus as they came. An automatic search lets go of it.
  struct MethodAtHand {
    MethodAtHand(DeviceMemory& memory, SearchMethod wanted) : name(wanted), components(memory) {}
    SearchMethod name;
    std::unique_ptr<VectorMethod> method;
    DeviceBuffer<float> components;  ///< of part_rows at most
    std::uint32_t part_rows = 0;
    std::uint64_t bytes_left = 0;  ///< beside them, and what the method may take
    bool holds_all = false;        ///< the whole corpus, unpacked before
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
  /// work(search_async, part) for each part of the rows in turn, by the method that was prepared;
  /// it waits for the stream.
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
  Stream stream_;
  Event started_;
  Event finished_;
  double device_ms_ = 0;  ///< of the last search
  Metric metric_ = Metric::l2;
  std::uint32_t dimension_ = 1;
  std::uint32_t rows_ = 0;
  VectorRow first_row_ = 0;
  Shadow shadow_ = Shadow::none;  ///< of a corpus that is on the device at once
  std::uint32_t part_rows_ = 0;   ///< of the corpus, on the device at once
  std::uint64_t workspace_bytes_ = 0;
  std::uint64_t transfer_bytes_ = 0;
  std::vector<float> kept_;  ///< the rows, where they do not fit the device
  std::optional<DeviceVectors> resident_;
  std::optional<VectorWorkspace> workspace_;
  std::optional<MethodAtHand> method_;
};

}  // namespace starling::gpu
