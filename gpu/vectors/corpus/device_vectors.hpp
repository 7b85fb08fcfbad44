// A corpus on the device, and searches over it that are enqueued only. The searcher lays batches
// and parts over it; a benchmark times it by events.
#pragma once

#include <cstdint>

#include "gpu/device/memory.hpp"
#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/panels.hpp"
#include "gpu/vectors/corpus/shadow.hpp"
#include "knn/words/metric.hpp"

namespace starling::gpu {

/// What a corpus has beside its panels, so that many queries are answered several times as fast.
enum class Shadow : std::uint8_t {
  none,
  halves,           ///< its rows in half precision, half of a panel's bytes
  halves_and_rows,  ///< and its rows one behind the other, where single ones are read faster
};

/// A corpus, or a part of it, as searches see it: rows [first_row, first_row + rows). A row whose
/// components are no numbers is nobody's neighbour, where there is no shadow.
struct CorpusView {
  bool is_dot = false;
  std::uint32_t rows = 0;
  std::uint32_t dimension = 1;
  VectorRow first_row = 0;
  PanelsView panels;
  PanelsView single_rows;  ///< where single rows are read: of any width
  ShadowView shadow;       ///< halves null: none

  bool has_shadow() const { return shadow.halves != nullptr; }
};

/// Owns rows [first_row, first_row + rows) of a corpus, in panels.
class DeviceVectors {
 public:
  /// Device memory that so many rows take, and what packing them takes beside it.
  static std::uint64_t bytes_for(std::uint32_t rows, std::uint32_t dimension, Shadow shadow);
  static std::uint64_t packing_bytes_for(std::uint32_t dimension);

  /// Reads `rows` from host memory; waits for the stream. Throws as DeviceMemory.
  DeviceVectors(DeviceMemory& memory, Metric metric, VectorsView rows, VectorRow first_row,
                Shadow shadow, const Stream& stream);

  PanelsView panels() const { return {groups_.data(), group_count_of(dimension_), panel_rows}; }
  CorpusView view() const;

 private:
  bool is_dot_;
  std::uint32_t rows_;
  std::uint32_t dimension_;
  VectorRow first_row_;
  DeviceBuffer<float4> groups_;
  DeviceBuffer<float4> rows_groups_;
  DeviceBuffer<std::uint16_t> halves_;
  DeviceBuffer<ShadowNorms> norms_;
  DeviceBuffer<ShadowTile> tiles_;
  DeviceBuffer<float4> center_;
  DeviceBuffer<ShadowFrame> frame_;
};

/// Queries and lists on the device.
struct DeviceSearch {
  const float* queries = nullptr;  ///< [count][dimension]
  std::uint32_t count = 0;
  std::uint32_t k = 1;              ///< 1 to vector_k_max
  VectorRow first_self = no_row;    ///< as VectorSearch's
  VectorNeighbor* lists = nullptr;  ///< [count][k]
  /// [count]: instead of first_self; null: none. With them no corpus' shadow is asked.
  const RowFilter* filters = nullptr;
  RowMasks masks{};  ///< of these filters
};

/// What searches need beside the corpus: packed queries, and lists with room for the rows of a
/// part. Searches go by query batches, and where even a tile of queries finds no room for all rows,
/// by segments of rows whose lists carry over. Used by one stream at a time.
class VectorWorkspace {
 public:
  /// Least bytes with which any search goes on.
  static std::uint64_t bytes_min(std::uint32_t dimension);

  VectorWorkspace(DeviceMemory& memory, std::uint64_t bytes_max)
      : memory_(memory),
        bytes_max_(bytes_max),
        queries_(memory),
        keys_(memory),
        words_(memory),
        halves_(memory),
        shadow_queries_(memory) {}

  /// Enqueued only, except that a workspace that grows waits for the device. Throws as
  /// DeviceMemory.
  void search_async(const CorpusView& corpus, const DeviceSearch& search, const Stream& stream);

 private:
  struct Plan {
    std::uint32_t queries = 0;  ///< of a batch
    std::uint32_t rows = 0;     ///< of a segment, whole panels, if it is not all
    std::uint32_t slots = 0;    ///< of a query
    bool is_filtered = false;   ///< by the corpus' shadow
  };
  Plan plan(const CorpusView& corpus, const DeviceSearch& search) const;
  void search_batch_async(const CorpusView& corpus, const DeviceSearch& search, const Plan& plan,
                          const Stream& stream);
  void filter_async(const CorpusView& corpus, const DeviceSearch& search, VectorScan& scan,
                    const Stream& stream);

  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  DeviceBuffer<float4> queries_;        ///< packed
  DeviceBuffer<std::uint64_t> keys_;    ///< of the lists
  DeviceBuffer<std::uint32_t> words_;   ///< counts, bounds, slots, tiles that are undecided
  DeviceBuffer<std::uint16_t> halves_;  ///< of the queries' shadows
  DeviceBuffer<ShadowQuery> shadow_queries_;
};

}  // namespace starling::gpu
