// SPDX-License-Identifier: Apache-2.0
// Runs and places tell whether a server's log still holds what a client was told. Each start of a
// server with a log is a run, with a random id, and the log notes where it began. A log that was
// put back from a copy ends before some of what an earlier run told. Subscribers and producers
// compare both: docs/decisions/0023-logs-put-back.md.
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

/// Where in the history of a log something was told.
struct RunPlace {
  Run run{};
  std::uint64_t run_before = 0;  ///< the id of the run before it in the log; 0: none
  std::uint64_t place = 0;       ///< all that it follows from is before this place of the log
  bool operator==(const RunPlace&) const = default;
};

/// Returns whether the log of the server that sent `now` still holds everything that `held` follows
/// from. If not, or if a whole run lies between the two, they may belong to different histories.
/// Returns true if one of them has no run: then only the epochs can tell.
inline bool is_same_history(const RunPlace& held, const RunPlace& now) {
  if (held.run.id == 0 || now.run.id == 0 || held.run.id == now.run.id) return true;
  return now.run_before == held.run.id && held.place <= now.run.begun;
}

/// The same for a reply that run `id` gave at `place`. `runs` are all runs that the server knows,
/// the newest first.
inline bool is_in_log(std::uint64_t id, std::uint64_t place, std::span<const Run> runs) {
  if (id == 0 || runs.empty() || runs.front().id == id) return true;
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (runs[i].id == id) return place <= runs[i - 1].begun;
  return false;
}

}  // namespace starling::protocol
