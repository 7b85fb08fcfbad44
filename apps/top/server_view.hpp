// SPDX-License-Identifier: Apache-2.0
// What `starling top` shows of a server: rates and levels, computed from two samples of the
// server's metrics.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "starling/protocol/client/client.hpp"

namespace starling::apps {

/// A counter: its value, and how fast it grows.
struct Counted {
  std::string name{};
  double total = 0;
  double per_s = 0;  ///< NaN: not known yet
};

/// The mean time of a stage of the ticks between the samples.
struct Stage {
  std::string name{};
  double ms = 0;  ///< NaN: no tick has finished between the samples
};

/// How much of a limit is used.
struct Level {
  std::string name{};
  double used = 0;
  double limit = 0;

  double ratio() const { return used / limit; }
  bool is_nearly_reached() const { return ratio() > 0.9; }
};

struct ServerView {
  double interval_s = 0;      ///< time between the samples; 0: there is only one sample
  bool is_restarted = false;  ///< the server was restarted between the samples
  double objects = 0, queries = 0, streams = 0, sessions = 0, subscriptions = 0;
  double log_full_s = 0;  ///< seconds without room in the log; 0: it has room, or there is no log
  double log_free_bytes = 0;  ///< free bytes on the log's disk
  Counted ticks, skipped, failed;
  std::vector<Stage> stages;  ///< stages in the order in which a tick has them
  Counted accepted, late, rejected;
  std::vector<Counted> reasons;  ///< rejected rows by reason, most frequent first, without zeros
  std::vector<Counted> refused;  ///< refusals by error code, most frequent first, without zeros
  Counted published_bytes, lost_ticks, replies_dropped, connections_refused;
  std::vector<Level> levels;  ///< the limits that have a level, highest ratio() first
};

/// Returns the view of `now`. The rates are since `before`, which was taken `interval_s` earlier.
/// If `interval_s` is 0, there are no rates.
ServerView view_of(const protocol::StatValues& before, const protocol::StatValues& now,
                   double interval_s);

}  // namespace starling::apps
