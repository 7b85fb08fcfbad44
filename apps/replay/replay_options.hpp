// SPDX-License-Identifier: Apache-2.0
// The values of the flags of `starling replay`, checked and converted to the units of the program.
// replay.cpp adds the flags of this command alone; apps/shared adds the flags that several commands
// have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/server/key_flags.hpp"
#include "starling/apps/shared/trace_flags.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/sim/replay/replay.hpp"
#include "starling/sim/replay/result_csv.hpp"

namespace starling::apps {

/// The flags as the user typed them. CLI11 fills this struct.
struct ReplayFlags : TraceFlags {
  double resolution_m = SpaceOptions().resolution_m;
  std::string origin;
  std::string tick = "1s";
  std::string speed = "max";
  std::optional<int> progress_fd;
  std::uint32_t k = 7;
  std::string queries = "all";
  std::string max_age;
  std::string distance_max;
  std::string tags_required;
  std::string tags_forbidden;
  std::string object_ttl;
  bool changes = false;
  bool every_tick = false;
  std::vector<std::string> with;
  bool exact = false;
  std::string on = "order";
  EngineFlags engine;
  std::string out;
  std::string commands;
  std::string results;
  std::string connect_timeout = "5s";
  KeyFlags key;
  std::string stream = "replay";
  std::string journal;  ///< the folder of a log; empty: a trace is replayed
};

struct ReplayPlan : TracePlan {
  double resolution_m = 0;
  Position origin{};
  std::int64_t tick_us = 0;
  std::optional<double> speed;     ///< a multiple of real time; std::nullopt: as fast as possible
  std::optional<int> progress_fd;  ///< gets the lines of ProgressLine
  std::uint32_t k = 0;
  std::string query_file;  ///< empty: every object is a query
  std::int64_t age_max_us = Filter::any_age;
  double distance_max_m = protocol::QuerySpec::any_distance_m;
  TagFilter tags;
  std::int64_t object_ttl_us = 0;
  bool changes_only = false;
  sim::ResultCsvColumns columns;
  bool every_tick = false;  ///< write all lists also in ticks without rows and without changes
  ReportOn on = ReportOn::distance;
  EngineFlags engine;
  std::string out;       ///< empty: no lists are written
  std::string commands;  ///< the endpoint of the server; empty: an embedded engine
  std::string results;
  std::optional<protocol::KeyPair> key;  ///< this client's key pair, if the server needs one
  std::int64_t connect_timeout_ms = 0;
  std::string stream;
};

/// Checks and converts the flags. If a flag is wrong, throws a sim::UsageError that names this
/// flag.
ReplayPlan plan_replay(const ReplayFlags& flags);

}  // namespace starling::apps
