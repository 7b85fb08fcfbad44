// SPDX-License-Identifier: Apache-2.0
// Runs make_snapshot beside the loop: see snapshot_maker.hpp.
#include "starling/stream/recovery/snapshot_maker.hpp"

#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

namespace starling::stream {

SnapshotMaker::SnapshotMaker(Executor& executor, log::Files& files, EngineMaker make_engine,
                             const SessionLimits& sessions, Ended ended)
    : executor_(executor),
      files_(files),
      make_engine_(std::move(make_engine)),
      sessions_(sessions),
      ended_(std::move(ended)),
      thread_(executor.make_threads(1, ThreadPriority::lowest)) {}

void SnapshotMaker::make(std::uint64_t until) {
  thread_->post(
      [this, until] { executor_.post([this, made = make_beside(until)] { ended_(made); }); });
}

std::optional<log::SnapshotInfo> SnapshotMaker::make_beside(std::uint64_t until) const {
  const std::int64_t since_us = executor_.now_us();
  try {
    const auto made = make_snapshot({.files = files_,
                                     .make_engine = make_engine_,
                                     .sessions = sessions_,
                                     .until = until,
                                     .is_cancelled = [this] { return is_cancelled_.load(); }});
    if (!made) return std::nullopt;
    spdlog::info("the log has a new snapshot, {}: {} MB, made in {} ms; {} older files are removed",
                 made->snapshot.file, made->snapshot.bytes / 1'000'000,
                 (executor_.now_us() - since_us) / 1000, made->dropped_files);
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
