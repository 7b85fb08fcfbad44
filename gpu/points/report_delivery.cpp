// SPDX-License-Identifier: Apache-2.0
// The delivery thread finishes results that have a long copy. While the delivery thread has tasks,
// it gets every further task, too. Otherwise the engine's thread runs a task at once. Results and
// tasks therefore stay in order. See report_delivery.hpp.
#include "starling/gpu/points/report_delivery.hpp"

#include <memory>
#include <utility>

namespace starling::gpu {

ReportDelivery::ReportDelivery(DeviceMemory& memory, int device)
    : ticks_{OutgoingTick(memory, reports_), OutgoingTick(memory, reports_)} {
  thread_.post([device] { static_cast<void>(cudaSetDevice(device)); });
}

// Prefers the OutgoingTick that was used last. If the caller waits for each result before it begins
// the next tick, only the buffers of one OutgoingTick grow.
OutgoingTick& ReportDelivery::next() {
  if (!ticks_[last_].is_free) {
    last_ = 1 - last_;
    ticks_[last_].is_free.wait(false);
  }
  ticks_[last_].is_free = false;
  return ticks_[last_];
}

void ReportDelivery::deliver(OutgoingTick& tick) {
  const auto finish_it = [this, &tick] { finish(tick); };
  if (tick.is_copied_beside())
    post_to_thread(finish_it);
  else
    post(finish_it);
}

// Only the engine's thread calls post. If waiting_ is 0, all earlier tasks are therefore done.
void ReportDelivery::post(std::function<void()> task) {
  if (waiting_ == 0)
    task();
  else
    post_to_thread(std::move(task));
}

void ReportDelivery::post_to_thread(std::function<void()> task) {
  ++waiting_;
  thread_.post([this, task = std::move(task)] {
    task();
    --waiting_;
  });
}

void ReportDelivery::finish(OutgoingTick& tick) {
  if (tick.result->error.empty()) tick.complete();
  std::unique_ptr<TickResult> result = std::move(tick.result);
  tick.is_free = true;
  tick.is_free.notify_one();
  on_result_(std::move(result));
}

}  // namespace starling::gpu
