// SPDX-License-Identifier: Apache-2.0
// Holds two begun ticks. Many rows are copied by the copy thread, on a CUDA stream of its own. Few
// rows are not copied: kernels read them in pinned memory. In either case ticks stay in order. See
// tick_intake.hpp.
#include "starling/gpu/points/tick_intake.hpp"

#include <algorithm>

namespace starling::gpu {

TickIntake::TickIntake(DeviceMemory& memory, int device, std::function<void(BegunTick&)> compute)
    : compute_(std::move(compute)),
      staging_(&pinned_memory()),
      begun_{BegunTick(memory), BegunTick(memory)} {
  for (TaskThread* const thread : {&engine_thread_, &copy_thread_})
    thread->post([device] { static_cast<void>(cudaSetDevice(device)); });
}

bool TickIntake::has_room() const {
  return std::ranges::any_of(begun_, [](const BegunTick& at) { return at.is_free.load(); });
}

bool TickIntake::begin(Tick tick, std::int64_t tau_us) {
  // Takes the first free BegunTick. If the caller waits for each result before it begins the next
  // tick, only the buffers of one BegunTick grow.
  const auto free =
      std::ranges::find_if(begun_, [](const BegunTick& at) { return at.is_free.load(); });
  if (free == begun_.end()) return false;
  BegunTick& begun = *free;
  begun.is_free = false;
  begun.tick = tick;
  begun.tau_us = tau_us;
  std::swap(begun.staged, staging_);
  const auto compute = [this, &begun] { compute_(begun); };
  if (bytes_to_copy(begun.staged) < bytes_beside_min) {
    post(compute);
  } else {
    pass_on([this, &begun] { copy(begun); }, compute);
  }
  return true;
}

void TickIntake::post(std::function<void()> task) {
  if (passed_on_ == 0)
    engine_thread_.post(std::move(task));
  else
    pass_on([] {}, std::move(task));
}

void TickIntake::pass_on(std::function<void()> before, std::function<void()> task) {
  ++passed_on_;
  copy_thread_.post([this, before = std::move(before), task = std::move(task)]() mutable {
    before();
    engine_thread_.post(std::move(task));
    --passed_on_;
  });
}

void TickIntake::give_back(BegunTick& begun) {
  begun.staged.clear();
  begun.is_copied_beside = false;
  begun.copy_error = nullptr;
  begun.is_free = true;
}

void TickIntake::copy(BegunTick& begun) {
  try {
    begun.copy_begun.record(stream_);
    begun.rows.copy_async(begun.staged, stream_);
    begun.copied.record(stream_);
    begun.is_copied_beside = true;
  } catch (const std::exception&) {
    begun.copy_error = std::current_exception();
  }
}

}  // namespace starling::gpu
