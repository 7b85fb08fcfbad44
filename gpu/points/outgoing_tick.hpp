// SPDX-License-Identifier: Apache-2.0
// An OutgoingTick is a tick's result on its way to the host. It holds the reports on the device,
// their copy in pinned memory, and the events that time the tick's stages. While one result is
// copied, the next tick is computed. ReportDelivery owns two OutgoingTicks.
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

/// The pinned memory that the spans of a TickResult point into.
struct HostReports {
  PinnedBuffer<ReportedList> lists;
  PinnedBuffer<Neighbor> neighbors;
  PinnedBuffer<NeighborState> states;
  PinnedBuffer<ReportSize> size{1};  ///< only report_few_kernel writes it
};

class OutgoingTick {
 public:
  OutgoingTick(DeviceMemory& memory, ReturnPool<HostReports>& pool);

  std::unique_ptr<TickResult> result;
  /// Events in the CUDA stream that computes the tick: the tick's start, and the end of each stage.
  /// `built` is recorded only if `has_index` is true.
  Event started, applied, built, searched;
  bool has_index = false;

  // For the engine's thread:

  /// Makes room for the reports on device and host. complete() merges `removals` into the reports.
  /// Throws DeviceError or std::bad_alloc. Throws std::runtime_error if the memory's limit is
  /// reached.
  void reserve(const ReportSize& size, std::vector<ReportedList> removals,
               const CudaStream& stream);
  ReportsView collected() { return {lists_.data(), neighbors_.data(), states_.data()}; }
  /// Enqueues the copy of the reports to the host. The copy begins after the work that is already
  /// in `stream`. A copy of at least bytes_beside_min bytes runs in `beside`, a smaller copy in
  /// `stream`.
  void copy_async(const CudaStream& stream, const CudaStream& beside);
  bool is_copied_beside() const { return is_copied_beside_; }
  // The functions from here to wait_until_stored replace reserve, collected and copy_async if a
  // kernel stores the reports directly to the host.
  /// Makes room on the host for reports of at most the size `most`.
  void reserve_on_host(const ReportSize& most, std::vector<ReportedList> removals);
  ReportsView on_host();
  ReportSize* size_on_host() { return host_->size.data(); }
  /// Call after the kernel that stores the reports is enqueued in `stream`.
  void stored_async(const CudaStream& stream);
  /// Waits until the kernel has stored the reports.
  void wait_until_stored();
  /// Turns the result into the result of a failed tick. Call only while no copy is under way.
  void fail(std::string error, bool is_engine_lost);

  // For the thread that delivers the result:

  /// Waits for the copy, and points the result's spans at the copied reports. If the copy fails,
  /// the result says that the engine is lost.
  void complete();

  std::atomic<bool> is_free{true};  ///< true if another tick may use this OutgoingTick

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
  bool is_on_host_ = false;  ///< true if the reports are known to have reached the host
  Event compared_, copy_begun_, copied_;
};

}  // namespace starling::gpu
