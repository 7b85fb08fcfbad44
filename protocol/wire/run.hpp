// SPDX-License-Identifier: Apache-2.0
// A run is one start of a server with its log. It has a random id, and the log notes the place
// where it began. A log that was put back from a copy lacks the last records of an earlier run.
// Subscribers and producers compare runs and places to detect this:
// docs/decisions/0023-logs-put-back.md.
#pragma once

#include <cstdint>
#include <span>

namespace starling::protocol {

/// A start of a server with its log.
struct Run {
  std::uint64_t id = 0;     ///< random; 0: the server has no log, or is older than runs
  std::uint64_t begun = 0;  ///< the place of the log where the run began
  bool operator==(const Run&) const = default;
};

/// The point in a log's history at which the server sent a message.
struct RunPlace {
  Run run{};
  std::uint64_t run_before = 0;  ///< the id of the run before `run` in the log; 0: none
  std::uint64_t place = 0;  ///< the message depends only on records before this place of the log
  bool operator==(const RunPlace&) const = default;
};

/// Returns true if the log of the server that sent `now` still has all records on which `held`
/// depends. Returns false if a record is missing, or if a whole run lies between `held` and `now`,
/// which then may belong to different histories. Returns true if `held` or `now` has no run: then
/// only the epochs can show a different history.
inline bool is_same_history(const RunPlace& held, const RunPlace& now) {
  if (held.run.id == 0 || now.run.id == 0 || held.run.id == now.run.id) return true;
  return now.run_before == held.run.id && held.place <= now.run.begun;
}

/// Returns true if the log still has all records on which a message of run `id` at `place` depends.
/// `runs` are all runs that the server knows, the newest first. Returns true if `id` is 0 or `runs`
/// is empty: then only the epochs can show a different history.
inline bool is_in_log(std::uint64_t id, std::uint64_t place, std::span<const Run> runs) {
  if (id == 0 || runs.empty() || runs.front().id == id) return true;
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (runs[i].id == id) return place <= runs[i - 1].begun;
  return false;
}

}  // namespace starling::protocol
