// SPDX-License-Identifier: Apache-2.0
// Copies reports to the host. Large copies run on a second CUDA stream. If there are few lists, a
// kernel stores their reports directly to the host, and nothing is copied. GpuEngine fills an
// OutgoingTick, and ReportDelivery completes it. See outgoing_tick.hpp.
#include "starling/gpu/points/outgoing_tick.hpp"

#include <exception>
#include <span>
#include <string>
#include <utility>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::gpu {

OutgoingTick::OutgoingTick(DeviceMemory& memory, ReturnPool<HostReports>& pool)
    : pool_(pool), lists_(memory), neighbors_(memory), states_(memory) {}

void OutgoingTick::reserve(const ReportSize& size, std::vector<ReportedList> removals,
                           const CudaStream& stream) {
  size_ = size;
  removals_ = std::move(removals);
  lists_.reserve_cleared(size.lists, stream);  // padding bytes are copied, too
  neighbors_.reserve(size.neighbors);
  states_.reserve(size.states);
  host_ = pool_.take();
  host_->lists.reserve(size.lists + removals_.size());
  host_->neighbors.reserve(size.neighbors);
  host_->states.reserve(size.states);
}

void OutgoingTick::copy_async(const CudaStream& stream, const CudaStream& beside) {
  compared_.record(stream);
  is_copied_beside_ = bytes() >= bytes_beside_min;
  is_stored_by_device_ = is_on_host_ = false;
  const CudaStream& way = is_copied_beside_ ? beside : stream;
  if (is_copied_beside_) {
    way.begin_after(compared_);
    copy_begun_.record(way);
  }
  copy_to_host_async(lists_.data(), std::span(host_->lists.data(), size_.lists), way);
  copy_to_host_async(neighbors_.data(), std::span(host_->neighbors.data(), size_.neighbors), way);
  copy_to_host_async(states_.data(), std::span(host_->states.data(), size_.states), way);
  copied_.record(way);
}

void OutgoingTick::reserve_on_host(const ReportSize& most, std::vector<ReportedList> removals) {
  removals_ = std::move(removals);
  host_ = pool_.take();
  host_->lists.reserve(most.lists + removals_.size());
  host_->neighbors.reserve(most.neighbors);
  host_->states.reserve(most.states);
}

ReportsView OutgoingTick::on_host() {
  return {host_->lists.data(), host_->neighbors.data(), host_->states.data()};
}

void OutgoingTick::stored_async(const CudaStream& stream) {
  is_copied_beside_ = false;
  is_stored_by_device_ = true;
  is_on_host_ = false;
  copied_.record(stream);
}

void OutgoingTick::wait_until_stored() {
  copied_.wait();
  is_on_host_ = true;
}

void OutgoingTick::fail(std::string error, bool is_engine_lost) {
  host_.reset();
  is_copied_beside_ = false;
  result->times = {};
  result->error = std::move(error);
  result->is_engine_lost = is_engine_lost;
}

void OutgoingTick::complete() {
  try {
    if (!is_on_host_) copied_.wait();
    take_times();
  } catch (const std::exception& error) {
    // The device compares later lists with this tick's lists. Later reports therefore would not
    // repeat the changes that the host did not get.
    fail(std::string("the tick's reports did not reach the host: ") + error.what(), true);
    return;
  }
  if (is_stored_by_device_) size_ = host_->size[0];
  const std::span lists(host_->lists.data(), size_.lists + removals_.size());
  merge_removals(removals_, lists);
  result->lists = lists;
  result->neighbors = std::span(host_->neighbors.data(), size_.neighbors);
  result->states = std::span(host_->states.data(), size_.states);
  result->owner = std::move(host_);
}

std::size_t OutgoingTick::bytes() const {
  return size_.lists * sizeof(ReportedList) + size_.neighbors * sizeof(Neighbor) +
         size_.states * sizeof(NeighborState);
}

void OutgoingTick::take_times() {
  StageTimes& times = result->times;
  times.copy_in_ms += applied.ms_since(started);
  if (has_index) times.build_ms = built.ms_since(applied);
  times.search_ms = searched.ms_since(has_index ? built : applied);
  times.diff_ms = (is_stored_by_device_ ? copied_ : compared_).ms_since(searched);
  if (!is_stored_by_device_)
    times.copy_out_ms = copied_.ms_since(is_copied_beside_ ? copy_begun_ : compared_);
  result->ends.copied_out_us = steady_now_us();
  result->ends.computed_us = us_before_now(is_stored_by_device_ ? 0 : copied_.ms_since(compared_));
}

}  // namespace starling::gpu
