// SPDX-License-Identifier: Apache-2.0
// Runs make_snapshot beside the loop: see snapshot_maker.hpp.
#include "starling/stream/recovery/snapshot_maker.hpp"

#include <exception>
#include <utility>

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include "starling/knn/base/clocks.hpp"

namespace starling::stream {
namespace {

/// Gives way to all other threads. The engine's threads, which this one starts, do too.
void take_lowest_priority() {
  constexpr int lowest = 19;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest);
}

}  // namespace

SnapshotMaker::SnapshotMaker(boost::asio::io_context& loop, log::Files& files,
                             EngineMaker make_engine, const SessionLimits& sessions, Ended ended)
    : files_(files),
      make_engine_(std::move(make_engine)),
      sessions_(sessions),
      ended_(std::move(ended)),
      thread_(loop, 1) {}

void SnapshotMaker::make(std::uint64_t until) {
  thread_.submit([this, until]() -> OrderedPool::Completion {
    take_lowest_priority();
    return [this, made = make_beside(until)] { ended_(made); };
  });
}

std::optional<log::SnapshotInfo> SnapshotMaker::make_beside(std::uint64_t until) const {
  const std::int64_t since_us = steady_now_us();
  try {
    const auto made = make_snapshot({.files = files_,
                                     .make_engine = make_engine_,
                                     .sessions = sessions_,
                                     .until = until,
                                     .is_cancelled = [this] { return is_cancelled_.load(); }});
    if (!made) return std::nullopt;
    spdlog::info("the log has a new snapshot, {}: {} MB, made in {} ms; {} older files are removed",
                 made->snapshot.file, made->snapshot.bytes / 1'000'000,
                 (steady_now_us() - since_us) / 1000, made->dropped_files);
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
