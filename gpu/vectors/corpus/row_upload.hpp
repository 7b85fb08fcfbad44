// SPDX-License-Identifier: Apache-2.0
// Copies rows from host memory to the device in pieces, while kernels work on earlier pieces: the
// streams of Liang et al. 2010, section 4.5.1. A DeviceSearcher owns a RowUpload and uses it for
// every corpus.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// Pieces go through a few slots of device memory. Copies run on a CUDA stream of their own; a slot
/// is filled again once the kernels that read it are done. Page-locked rows are copied directly.
/// Other rows, such as those of a mapped file, are first copied to page-locked slots by several
/// threads, because the driver would copy them with one thread.
class RowUpload {
 public:
  /// Rows on the device: components [count][dimension] of rows [begin, begin + count).
  struct Piece {
    const float* components = nullptr;
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };

  /// Returns the bytes of device memory that the slots take at most.
  static std::uint64_t bytes_for(std::uint32_t dimension);

  explicit RowUpload(DeviceMemory& memory);
  ~RowUpload() { copies_.drain(); }
  RowUpload(const RowUpload&) = delete;
  RowUpload& operator=(const RowUpload&) = delete;

  /// Begins to upload `rows`, which must stay valid until all of them are copied. Throws the same
  /// errors as DeviceMemory, and std::bad_alloc.
  void start(VectorsView rows);
  bool is_done() const { return next_ == rows_.rows(); }

  /// Enqueues the copy of the next piece. Work that is enqueued to `stream` afterwards begins after
  /// the copy. Call release() after all work that reads the piece is enqueued, and before next() is
  /// called again. Page-locked rows are read until copies() is done, other rows before next()
  /// returns.
  Piece next(const CudaStream& stream);
  void release(const CudaStream& stream) { slots_[slot_].released.record(stream); }

  /// The CUDA stream of the copies. Until it is done, rows in page-locked memory may be read.
  const CudaStream& copies() const { return copies_; }

 private:
  struct Slot {
    explicit Slot(DeviceMemory& memory) : on_device(memory) {}
    DeviceBuffer<float> on_device;
    PinnedBuffer<float> staged;  ///< not used for page-locked rows
    Event copied;
    Event released;
  };

  void stage(Slot& slot, std::span<const float> components);

  static constexpr std::size_t slot_count = 3;

  DeviceMemory& memory_;
  CudaStream copies_;
  std::array<Slot, slot_count> slots_;
  std::size_t slot_ = 0;
  std::unique_ptr<ThreadPool> pool_;  ///< made when rows are staged for the first time
  VectorsView rows_;
  bool is_page_locked_ = false;
  std::uint32_t piece_rows_ = 1;
  std::uint32_t next_ = 0;
};

}  // namespace starling::gpu
