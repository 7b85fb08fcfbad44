// SPDX-License-Identifier: Apache-2.0
// Makes snapshots of a server's log on a thread of its own, with the lowest priority, while the
// server goes on. ServerLog owns it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "starling/log/files.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/recovery/make_snapshot.hpp"

namespace starling::stream {

class SnapshotMaker {
 public:
  /// Called on the loop after each make(), with the new snapshot, or with std::nullopt if there is
  /// none. An error is then already in the server's log.
  using Ended = std::function<void(const std::optional<log::SnapshotInfo>& snapshot)>;
  /// make() copies `task` and sets the place and the time of the copy.
  SnapshotMaker(Executor& executor, SnapshotTask task, std::function<std::int64_t()> wall_now_us,
                Ended ended);
  /// Cancels a snapshot that is being made, and waits until its thread has ended.
  ~SnapshotMaker() { is_cancelled_ = true; }

  /// Makes a snapshot that stands for all records before `until`. Call it again only after `ended`.
  void make(std::uint64_t until);

 private:
  std::optional<log::SnapshotInfo> make_beside(const SnapshotTask& task) const;

  Executor& executor_;
  SnapshotTask task_;
  std::function<std::int64_t()> wall_now_us_;
  Ended ended_;
  std::atomic<bool> is_cancelled_{false};
  std::unique_ptr<Threads> thread_;  ///< declared last, so that it ends first
};

}  // namespace starling::stream
