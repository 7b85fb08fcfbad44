// SPDX-License-Identifier: Apache-2.0
// A server's log that `starling view` plays: the objects as each of its ticks had them.
#pragma once

#include <memory>

#include "starling/apps/view/played_source.hpp"
#include "starling/apps/view/view_run.hpp"

namespace starling::apps {

/// Opens the log and finds its ticks. Throws std::runtime_error with a sentence if the folder has
/// no log, or if the log is of vectors or has no tick in the span of the plan. Throws as LogRun
/// does.
std::unique_ptr<PlayedSource> make_played_log(const ViewPlan& plan);

}  // namespace starling::apps
