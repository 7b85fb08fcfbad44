// SPDX-License-Identifier: Apache-2.0
// If a tick has many rows, the copy thread copies them in parts while they are staged, on a CUDA
// stream of its own. If a tick has few rows, kernels read them in pinned memory. While the copy
// thread has tasks to post to the engine's thread, every further task goes through the copy thread,
// so that ticks stay in order. See tick_intake.hpp.
#include "starling/gpu/points/tick_intake.hpp"

#include <algorithm>

#include "starling/knn/base/clocks.hpp"

namespace starling::gpu {

void BegunTick::tell_copies(const Event& now, StageEnds& ends) const {
  const auto time_of = [&](const Event& event) { return us_before_now(now.ms_since(event)); };
  for (std::size_t part = 0; part < staged.part_ends.size(); ++part)
    ends.copied_ahead.push_back(
        {time_of(part_copies[part].begun), time_of(part_copies[part].copied)});
  ends.copied_in_us = time_of(copied);
}

TickIntake::TickIntake(DeviceMemory& memory, int device, std::size_t part_rows_min,
                       std::shared_ptr<const FaultInjection> faults,
                       std::function<void(BegunTick&)> compute)
    : parts_(part_rows_min),
      faults_(std::move(faults)),
      compute_(std::move(compute)),
      staging_(&staged_memory_),
      begun_{BegunTick(memory, staged_memory_), BegunTick(memory, staged_memory_)} {
  for (TaskThread* const thread : {&engine_thread_, &copy_thread_})
    thread->post([device] { static_cast<void>(cudaSetDevice(device)); });
}

TickIntake::~TickIntake() {
  finish_copies();
  is_ending_ = true;
}

void TickIntake::StagedMemory::do_deallocate(void* memory, std::size_t bytes,
                                             std::size_t alignment) {
  intake_.finish_copies();
  PinnedMemory::do_deallocate(memory, bytes, alignment);
}

void TickIntake::finish_copies() {
  if (is_ending_) return;
  copy_thread_.run<void>([] {});
  stream_.drain();
}

void TickIntake::take_ahead() {
  if (!parts_.is_due(staging_)) return;
  if (next_ == nullptr) {
    next_ = find_free();
    if (next_ == nullptr) return;
    next_->is_free = false;
  }
  const DeviceRows::Part part{.rows = staging_.objects.data(),
                              .begin = staging_.taken_rows,
                              .end = staging_.objects.size(),
                              .expected = staging_.objects.capacity()};
  staging_.end_part();
  copy_thread_.post([this, part, &begun = *next_, number = staging_.part_ends.size()] {
    if (begun.copy_error) return;
    try {
      if (begun.part_copies.size() < number) begun.part_copies.emplace_back();
      BegunTick::PartCopy& copy = begun.part_copies[number - 1];
      if (faults_) faults_->fail_if_asked(FaultInjection::Stage::copying_ahead);
      copy.begun.record(stream_);
      begun.rows.copy_part_async(part, stream_);
      copy.copied.record(stream_);
    } catch (const std::exception&) {
      begun.copy_error = std::current_exception();
    }
  });
}

BegunTick* TickIntake::find_free() {
  // Prefers the first BegunTick. If the caller waits for each result before it begins the next
  // tick, only the buffers of one BegunTick grow.
  const auto free =
      std::ranges::find_if(begun_, [](const BegunTick& at) { return at.is_free.load(); });
  return free == begun_.end() ? nullptr : &*free;
}

bool TickIntake::has_room() const {
  return next_ != nullptr ||
         std::ranges::any_of(begun_, [](const BegunTick& at) { return at.is_free.load(); });
}

bool TickIntake::begin(Tick tick, std::int64_t tau_us) {
  BegunTick* const free = next_ != nullptr ? std::exchange(next_, nullptr) : find_free();
  if (free == nullptr) return false;
  BegunTick& begun = *free;
  begun.is_free = false;
  begun.tick = tick;
  begun.tau_us = tau_us;
  std::swap(begun.staged, staging_);
  parts_.begin_tick(begun.staged);
  const auto compute = [this, &begun] { compute_(begun); };
  if (begun.staged.part_ends.empty() && bytes_to_copy(begun.staged) < bytes_beside_min) {
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
  if (begun.copy_error) return;
  try {
    if (faults_) faults_->fail_if_asked(FaultInjection::Stage::copying);
    begun.copy_begun.record(stream_);
    begun.rows.copy_async(begun.staged, stream_);
    begun.copied.record(stream_);
    begun.is_copied_beside = true;
  } catch (const std::exception&) {
    begun.copy_error = std::current_exception();
  }
}

}  // namespace starling::gpu
