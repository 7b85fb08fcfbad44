// SPDX-License-Identifier: Apache-2.0
// Passes the queries of a search through the device in pieces: the streams of Liang et al. 2010,
// section 4.5.1, for queries and lists. corpus/row_upload.hpp does the same for the rows of a
// corpus. A DeviceSearcher owns a SearchPipeline and keeps queries and lists in its memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/device_search.hpp"

namespace starling::gpu {

/// Queries [begin, begin + count) of a search.
struct Piece {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

/// What the pipeline does with each piece, in this order. The functions are called on the thread
/// that called run(), for one piece after another.
struct PieceSteps {
  /// Enqueues to `stream` the work that writes the piece's queries to `queries`.
  std::function<void(Piece, float* queries, const CudaStream& stream)> bring;
  /// Enqueues the search of the piece to the CUDA stream that run() was given.
  std::function<void(Piece, const float* queries, VectorNeighbor* lists)> search;
  /// Enqueues to `stream` the copy of the piece's lists to the host.
  std::function<void(Piece, const VectorNeighbor* lists, const CudaStream& stream)> fetch;
  /// Called when the piece's lists are on the host.
  std::function<void(Piece)> done;
};

/// While the device searches a piece, the lists of the previous piece are copied to the host and
/// done() takes them, and the queries of the next piece are copied to the device. A copy runs at
/// the same time as kernels only if its host memory is page-locked. Other copies block the calling
/// thread, but not the kernels.
class SearchPipeline {
 public:
  explicit SearchPipeline(DeviceMemory& memory)
      : memory_(memory), slots_{Slot(memory), Slot(memory)} {}

  bool has_room(std::size_t floats, std::size_t entries, std::size_t slots) const;
  /// Makes room in the first `slots` slots, 1 or 2, for `floats` components of queries and
  /// `entries` entries of lists each. Frees what they had before. Throws the same errors as
  /// DeviceMemory.
  void make_room(std::size_t floats, std::size_t entries, std::size_t slots);
  void free() { make_room(0, 0, 0); }

  /// The memory of the first slot, for searches that do not use run().
  float* queries() { return slots_[0].queries.data(); }
  VectorNeighbor* lists() { return slots_[0].lists.data(); }

  /// Searches `count` queries in pieces of `piece_max`. One piece uses one slot and only `stream`;
  /// several pieces use both slots. Returns the milliseconds that the device took for the searches.
  /// When run() returns or throws, the device uses neither the slots nor memory of the host.
  double run(std::uint32_t count, std::uint32_t piece_max, const CudaStream& stream,
             const PieceSteps& steps);

 private:
  struct Slot {
    explicit Slot(DeviceMemory& memory) : queries(memory), lists(memory) {}
    DeviceBuffer<float> queries;
    DeviceBuffer<VectorNeighbor> lists;
    Event brought;
    Event started;
    Event searched;
    Event fetched;
  };

  DeviceMemory& memory_;
  CudaStream brings_;
  CudaStream fetches_;
  std::array<Slot, 2> slots_;
};

}  // namespace starling::gpu
