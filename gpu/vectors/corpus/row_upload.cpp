// SPDX-License-Identifier: Apache-2.0
// Divides rows into pieces and passes them through the slots: see row_upload.hpp.
#include "starling/gpu/vectors/corpus/row_upload.hpp"

#include <algorithm>
#include <cstring>

#include "starling/gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {
namespace {

/// The bytes of a piece. A copy of 4 MiB takes 75 us at 55 GB/s, several times as long as enqueuing
/// the work for a piece. A small corpus has about `pieces_min` pieces, so that most of its search
/// overlaps with copies.
constexpr std::size_t piece_bytes_max = std::size_t{4} << 20;
constexpr std::size_t piece_bytes_min = std::size_t{1} << 20;
constexpr std::size_t pieces_min = 4;

/// A thread copies at least this many floats at a time.
constexpr std::size_t staged_grain = std::size_t{1} << 15;

/// Returns how many rows a piece of about `bytes` bytes has: whole panels, at least one.
std::uint32_t rows_of_piece(std::size_t bytes, std::uint32_t dimension) {
  const std::size_t rows = bytes / (dimension * sizeof(float));
  return static_cast<std::uint32_t>(std::max<std::size_t>(rows / panel_rows, 1)) * panel_rows;
}

bool is_page_locked(const void* memory) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // clears the error of memory that CUDA does not know
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

}  // namespace

std::uint64_t RowUpload::bytes_for(std::uint32_t dimension) {
  return std::uint64_t{slot_count} * rows_of_piece(piece_bytes_max, dimension) * dimension *
         sizeof(float);
}

RowUpload::RowUpload(DeviceMemory& memory)
    : memory_(memory), slots_{Slot(memory), Slot(memory), Slot(memory)} {}

void RowUpload::start(VectorsView rows) {
  rows_ = rows;
  next_ = 0;
  if (rows.rows() == 0) return;
  const std::span<const float> all = rows.components;
  is_page_locked_ = is_page_locked(all.data()) && is_page_locked(&all.back());
  const std::size_t bytes =
      std::clamp(all.size_bytes() / pieces_min, piece_bytes_min, piece_bytes_max);
  piece_rows_ = std::min(rows_of_piece(bytes, rows.dimension), rows.rows());
  const std::size_t floats = std::size_t{piece_rows_} * rows.dimension;
  // A slot of an earlier corpus is kept if it has room for a piece, is at most twice as large as a
  // piece, and does not exceed what bytes_for() promises.
  const std::size_t floats_max =
      std::min<std::size_t>(2 * floats, bytes_for(rows.dimension) / slot_count / sizeof(float));
  for (Slot& slot : slots_) {
    if (slot.on_device.room() >= floats && slot.on_device.room() <= floats_max) continue;
    slot.on_device = DeviceBuffer<float>(memory_);
    slot.on_device = DeviceBuffer<float>(memory_, floats);
  }
  if (is_page_locked_) return;
  if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>(half_of_cores());
  for (Slot& slot : slots_) slot.staged.reserve(floats);
}

RowUpload::Piece RowUpload::next(const CudaStream& stream) {
  slot_ = (slot_ + 1) % slot_count;
  Slot& slot = slots_[slot_];
  Piece piece{slot.on_device.data(), next_, std::min(piece_rows_, rows_.rows() - next_)};
  const auto components = rows_.components.subspan(std::size_t{piece.begin} * rows_.dimension,
                                                   std::size_t{piece.count} * rows_.dimension);
  std::span<const float> from = components;
  if (!is_page_locked_) {
    stage(slot, components);
    from = {slot.staged.data(), components.size()};
  }
  copies_.begin_after(slot.released);
  copy_to_device_async(from, slot.on_device, copies_);
  slot.copied.record(copies_);
  stream.begin_after(slot.copied);
  next_ += piece.count;
  return piece;
}

/// Waits until the last copy from the slot's page-locked memory is done, and then copies
/// `components` into that memory.
void RowUpload::stage(Slot& slot, std::span<const float> components) {
  slot.copied.wait();
  float* const to = slot.staged.data();
  pool_->for_ranges(
      components.size(), staged_grain, [&](std::size_t begin, std::size_t end, unsigned) {
        std::memcpy(to + begin, components.data() + begin, (end - begin) * sizeof(float));
      });
}

}  // namespace starling::gpu
