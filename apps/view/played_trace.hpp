// SPDX-License-Identifier: Apache-2.0
// A recorded trace that `starling view` plays.
#pragma once

#include <memory>

#include "starling/apps/view/played_source.hpp"
#include "starling/apps/view/view_run.hpp"

namespace starling::apps {

/// The plan must outlive the result.
std::unique_ptr<PlayedSource> make_played_trace(const ViewPlan& plan);

}  // namespace starling::apps
