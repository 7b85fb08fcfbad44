// SPDX-License-Identifier: Apache-2.0
// Divides a search into batches of queries, for methods that write a matrix of scores. If there is
// too little memory for a few queries with all rows, also divides the corpus into parts, and merges
// the lists of the parts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/lists_launch.hpp"
#include "starling/gpu/vectors/methods/method.hpp"

namespace starling::gpu {

struct MatrixBatch {
  std::uint32_t queries = 0;
  std::uint32_t rows = 0;  ///< rows of a part of the corpus
};

/// Returns the stride, in floats, of a matrix with `columns` columns; each row of the matrix begins
/// at a multiple of 16 bytes.
constexpr std::uint64_t stride_of(std::uint32_t columns) {
  return (std::uint64_t{columns} + 3) / 4 * 4;
}

/// Returns the largest batch that fits into `bytes` bytes. Each pair of a query and a row takes
/// `pair_bytes`, and each query takes `query_bytes` in addition. A batch has at least one query,
/// and at least rows_min rows unless the corpus has fewer. The rows are divided only if 128 queries
/// do not fit together with all rows: a kernel reads the corpus once for each tile of 128 queries,
/// however few queries the tile has.
inline MatrixBatch matrix_batch(std::uint32_t rows, std::uint32_t queries, std::uint64_t bytes,
                                std::uint64_t pair_bytes, std::uint64_t query_bytes) {
  constexpr std::uint64_t tile_queries = 128;
  constexpr std::uint64_t queries_max = std::uint64_t{1} << 20;
  constexpr std::uint64_t rows_min = 1024;
  const std::uint64_t least_queries = std::clamp<std::uint64_t>(queries, 1, tile_queries);
  const std::uint64_t beside = std::min(bytes / 2, least_queries * query_bytes);
  const std::uint64_t rows_fit =
      std::max((bytes - beside) / (least_queries * pair_bytes) / 4 * 4, rows_min);
  MatrixBatch batch;
  batch.rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(rows, rows_fit));
  const std::uint64_t queries_fit =
      std::max<std::uint64_t>(bytes / (stride_of(batch.rows) * pair_bytes + query_bytes), 1);
  batch.queries =
      static_cast<std::uint32_t>(std::min({std::uint64_t{queries}, queries_fit, queries_max}));
  return batch;
}

/// Makes room for exactly `count` elements, because memory limits count every byte. Waits for the
/// CUDA stream before the buffer grows.
template <class T>
void ensure_room(DeviceBuffer<T>& buffer, DeviceMemory& memory, std::uint64_t count,
                 const CudaStream& stream) {
  if (count <= buffer.room()) return;
  stream.wait();
  buffer = DeviceBuffer<T>(memory);
  buffer = DeviceBuffer<T>(memory, count);
}

/// Returns the bytes that the list of one query takes in `part_lists` (see
/// search_in_batches_async).
constexpr std::uint64_t part_list_bytes(std::uint32_t k) {
  return std::uint64_t{k} * sizeof(VectorNeighbor);
}

/// Calls search_part(part of the corpus, batch of the search) for each pair of a part and a batch.
/// If there are several parts, merges their lists. `part_lists` holds the lists of one part until
/// they are merged.
template <class SearchPart>
void search_in_batches_async(const RowMajorView& corpus, const DeviceSearch& search,
                             const MatrixBatch& batch, DeviceBuffer<VectorNeighbor>& part_lists,
                             DeviceMemory& memory, const CudaStream& stream,
                             const SearchPart& search_part) {
  if (search.count == 0) return;
  if (corpus.count == 0)
    return fill_lists_async(search.lists, std::uint64_t{search.count} * search.k, stream);
  if (batch.rows < corpus.count)
    ensure_room(part_lists, memory, std::uint64_t{batch.queries} * search.k, stream);
  for (std::uint32_t begin = 0; begin < search.count; begin += batch.queries) {
    DeviceSearch of_batch = search;
    of_batch.queries += std::size_t{begin} * corpus.dimension;
    of_batch.count = std::min(batch.queries, search.count - begin);
    of_batch.lists += std::size_t{begin} * search.k;
    if (search.first_self != no_row) of_batch.first_self += begin;
    for (std::uint64_t row = 0; row < corpus.count; row += batch.rows) {
      RowMajorView part = corpus;
      part.components += row * corpus.dimension;
      part.count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(batch.rows, corpus.count - row));
      part.first_row += static_cast<VectorRow>(row);
      DeviceSearch of_part = of_batch;
      if (row > 0) of_part.lists = part_lists.data();
      search_part(part, of_part);
      if (row > 0)
        merge_lists_async(of_batch.lists, part_lists.data(), of_batch.count, search.k, stream);
    }
  }
}

}  // namespace starling::gpu
