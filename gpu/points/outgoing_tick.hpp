// A tick's result on its way: what the device collects of it, the copy to pinned memory, and when
// each stage ended. One is copied while the next tick is computed.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/lists/lists_launch.hpp"
#include "starling/knn/base/return_pool.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// What a TickResult shows.
struct HostReports {
  PinnedBuffer<ReportedList> lists;
  PinnedBuffer<Neighbor> neighbors;
  PinnedBuffer<NeighborState> states;
  PinnedBuffer<ReportSize> size{1};  ///< where the device tells it
};

class OutgoingTick {
 public:
  OutgoingTick(DeviceMemory& memory, ReturnPool<HostReports>& pool);

  std::unique_ptr<TickResult> result;
  /// The ends of a tick's stages, on the CUDA stream that computes it.
  Event started, applied, built, searched;

  // Of the engine's thread:

  /// Room for what is reported, on both sides; `removals` are merged into it in the end. Throws
  /// DeviceError, std::bad_alloc, and std::runtime_error beyond the memory's limit.
  void reserve(const ReportSize& size, std::vector<ReportedList> removals,
               const CudaStream& stream);
  ReportsView collected() { return {lists_.data(), neighbors_.data(), states_.data()}; }
  /// Enqueues the copy to the host behind what `stream` collects: on `beside`, or if it is short on
  /// the same.
  void copy_async(const CudaStream& stream, const CudaStream& beside);
  bool is_copied_beside() const { return is_copied_beside_; }
  /// Instead of these three, for what the device stores to the host itself: room for at most
  /// `most`, where it goes, and that it is enqueued.
  void reserve_on_host(const ReportSize& most, std::vector<ReportedList> removals);
  ReportsView on_host();
  ReportSize* size_on_host() { return host_->size.data(); }
  void stored_async(const CudaStream& stream);
  /// The tick has failed, and no copy is under way.
  void fail(std::string error, bool is_engine_lost);

  // Of whoever delivers:

  /// Waits for the copy, and has the result show it. If the copy fails, the result says that the
  /// engine is lost.
  void complete();

  std::atomic<bool> is_free{true};

 private:
  std::size_t bytes() const;
  void take_times();

  ReturnPool<HostReports>& pool_;
  DeviceBuffer<ReportedList> lists_;
  DeviceBuffer<Neighbor> neighbors_;
  DeviceBuffer<NeighborState> states_;
  std::shared_ptr<HostReports> host_;
  ReportSize size_;
  std::vector<ReportedList> removals_;
  bool is_copied_beside_ = false;
  bool is_stored_by_device_ = false;
  Event compared_, copy_begun_, copied_;
};

}  // namespace starling::gpu
