// SPDX-License-Identifier: Apache-2.0
// Runs make_snapshot beside the loop: see snapshot_maker.hpp.
#include "starling/stream/recovery/snapshot_maker.hpp"

#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

namespace starling::stream {

SnapshotMaker::SnapshotMaker(Executor& executor, SnapshotTask task,
                             std::function<std::int64_t()> wall_now_us, Ended ended)
    : executor_(executor),
      task_(std::move(task)),
      wall_now_us_(std::move(wall_now_us)),
      ended_(std::move(ended)),
      thread_(executor.make_threads(1, ThreadPriority::lowest)) {
  task_.is_cancelled = [this] { return is_cancelled_.load(); };
}

void SnapshotMaker::make(std::uint64_t until) {
  SnapshotTask task = task_;
  task.until = until;
  task.created_us = wall_now_us_();
  thread_->post(
      [this, task] { executor_.post([this, made = make_beside(task)] { ended_(made); }); });
}

std::optional<log::SnapshotInfo> SnapshotMaker::make_beside(const SnapshotTask& task) const {
  const std::int64_t since_us = executor_.now_us();
  try {
    const auto made = make_snapshot(task);
    if (!made) return std::nullopt;
    spdlog::info("the log has a new snapshot, {}: {} MB, made in {} ms; {} older files are removed",
                 made->snapshot.file, made->snapshot.bytes / 1'000'000,
                 (executor_.now_us() - since_us) / 1000, made->dropped_files);
    if (!made->not_dropped.empty())
      spdlog::error("files of the log that are not needed any more stay: {}", made->not_dropped);
    return made->snapshot;
  } catch (const SnapshotCancelled&) {
  } catch (const std::exception& error) {
    spdlog::error(
        "the log gets no snapshot, and grows until it does: {}. The server goes on and tries again "
        "in a minute",
        error.what());
  }
  return std::nullopt;
}

}  // namespace starling::stream
