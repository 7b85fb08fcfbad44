// SPDX-License-Identifier: Apache-2.0
// Replays a recording into a server of its own, as often as the user moves back, until the user
// ends it. view.cpp calls it.
#pragma once

#include <cstdint>
#include <string>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/trace_flags.hpp"

namespace starling::apps {

struct ViewPlan : TracePlan {
  std::int64_t tick_us = 0;
  double speed = 1;  ///< a multiple of real time
  std::int64_t object_ttl_us = 0;
  std::string page_network;  ///< empty: no roads
  std::string http_host;
  std::uint16_t http_port = 0;
  EngineFlags engine;
};

/// Returns when the user ends it by a key or a signal. Throws sim::UsageError, sim::InputError, and
/// what Server throws.
void run_view(const ViewPlan& plan);

}  // namespace starling::apps
