// SPDX-License-Identifier: Apache-2.0
// What must be known of a log before its records are applied: its epoch, which ticks need not be
// searched again, and where no tick is under way. FoundLog, LogRun and make_snapshot() use it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "starling/knn/words/types.hpp"
#include "starling/log/reader.hpp"
#include "starling/protocol/wire/run.hpp"

namespace starling::stream {

class LogScan {
 public:
  /// Call it for all records, in order. Throws UnknownRecord.
  void look_at(const log::Record& record);

  /// The last epoch; std::nullopt if no record has one.
  const std::optional<std::uint64_t>& epoch() const { return epoch_; }
  /// The last run and those before it, the newest first; empty if no record has one.
  const std::vector<protocol::Run>& runs() const { return runs_; }
  const std::set<Tick>& failed_ticks() const { return failed_; }
  /// The last tick that finished without an error; 0: no tick has.
  Tick last_finished() const { return last_finished_; }
  /// Returns the first tick that must be searched when the log is applied; 0: all must be searched.
  /// It is the last tick that finished without an error. If the log lacks the reply to a tick, the
  /// last good tick before that tick must be searched, too, because the reply counts the lists that
  /// changed.
  Tick first_needed_tick() const;
  /// Returns the last tick before `tick` that did not fail; 0: all failed.
  Tick last_good_tick_before(Tick tick) const;
  /// How many ticks have begun and not finished.
  std::uint64_t ticks_under_way() const { return under_way_; }
  /// The last place at which no tick is under way or about to begin; 0: there is none.
  std::uint64_t clean_end() const { return clean_end_; }

 private:
  std::optional<std::uint64_t> epoch_;
  std::vector<protocol::Run> runs_;
  std::set<Tick> failed_;
  Tick last_finished_{};
  std::uint64_t under_way_ = 0;
  std::uint64_t clean_end_ = 0;
  /// The ticks of requests that have no reply yet, by session and number.
  std::map<std::pair<std::uint64_t, std::uint64_t>, Tick> unanswered_;
};

}  // namespace starling::stream
