// SPDX-License-Identifier: Apache-2.0
// Whether a server writes a log, where, and when a reply waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/log/files.hpp"
#include "starling/log/group_commit.hpp"
#include "starling/log/system_files.hpp"

namespace starling::stream {

enum class Durability : std::uint8_t {
  off,   ///< there is no log: a restart loses everything
  tick,  ///< a reply waits for the commit at the next tick, but at most about 10 ms
  sync,  ///< a reply waits for the next commit, and commits follow each other without pause
};

/// Returns the value of --durability, such as "tick".
std::string_view to_string(Durability durability);
std::optional<Durability> durability_from_string(std::string_view text);

struct JournalOptions {
  std::string folder{};  ///< empty: there is no log
  /// std::nullopt: `tick` if there is a folder, else `off`.
  std::optional<Durability> durability{};
  std::uint64_t segment_bytes = std::uint64_t{256} << 20;  ///< bytes of one file of the log
  /// The most bytes of records that wait for the disk.
  std::uint64_t buffer_bytes_max = std::uint64_t{64} << 20;
  std::uint64_t begin_bytes = log::GroupCommitOptions{}.begin_bytes;  ///< see GroupCommitOptions
  // A snapshot is made when the records after the last snapshot have more than tail_bytes_max bytes
  // and more bytes than that snapshot, or when that snapshot is older than tail_age_max_us.
  std::uint64_t tail_bytes_max = std::uint64_t{1} << 30;
  std::int64_t tail_age_max_us = 3'600'000'000;
  /// The log can answer questions about at least this much of the past. Older snapshots and
  /// segments are removed. 0: everything before the last snapshot is removed.
  std::int64_t keep_us = 0;
  std::int64_t retry_us = 60'000'000;  ///< pause between a snapshot that failed and the next try
  /// Makes the engines that make snapshots and answer questions about the past, beside the server.
  /// Empty: the server does neither, and the log grows.
  std::function<std::unique_ptr<Engine>(const SpaceOptions& space)> make_engine{};
  /// Opens the folder, either to write, or to read it beside the writer. Tests pass a simulated
  /// disk.
  std::function<std::unique_ptr<log::Files>(const std::string& folder, log::FolderUse use)> open =
      log::open_folder;

  /// completed() sets it to ServerOptions::wall_now_us. Any thread may call it.
  std::function<std::int64_t()> wall_now_us = starling::wall_now_us;

  /// Must arrange that GroupCommit::step() is called whenever a commit is due. Empty: a thread of
  /// GroupCommit calls it.
  std::function<void(log::GroupCommit&)> run_commits{};

  /// A simulation sets run_commits, and runs everything on one thread.
  bool has_threads() const { return !run_commits; }
  bool is_on() const { return !folder.empty() && durability != Durability::off; }
};

}  // namespace starling::stream
