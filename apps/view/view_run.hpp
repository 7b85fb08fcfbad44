// SPDX-License-Identifier: Apache-2.0
// Plays a recorded trace or a server's log into a server of its own until the user ends the view,
// and plays it again each time the user moves back. view.cpp calls it.
#pragma once

#include <cstdint>
#include <string>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/trace_flags.hpp"
#include "starling/stream/recovery/log_run.hpp"

namespace starling::apps {

struct ViewPlan : TracePlan {
  std::string journal;             ///< the folder of a log; empty: a trace is played
  stream::LogSpan log_span{};      ///< the ticks of a log to play
  std::int64_t tick_us = 0;        ///< tick length of a trace
  double speed = 1;                ///< a multiple of real time
  std::int64_t object_ttl_us = 0;  ///< see --object-ttl; used for a trace
  std::string page_network;        ///< empty: no roads
  std::string http_host;
  std::uint16_t http_port = 0;
  EngineFlags engine;
};

/// Returns when the user ends the view by a key or a signal. Throws sim::UsageError,
/// sim::InputError, and what Server and LogRun throw.
void run_view(const ViewPlan& plan);

}  // namespace starling::apps
