// SPDX-License-Identifier: Apache-2.0
// The view of a server as text for a terminal and as JSON.
#pragma once

#include <string>

#include "starling/apps/shared/text/screen.hpp"
#include "starling/apps/top/server_view.hpp"

namespace starling::apps {

struct ViewHead {
  std::string server{};  ///< program and version
  std::string endpoint{};
  std::string space{};
  std::string obstacle{};  ///< why the view is out of date; empty if it is current
};

/// Returns lines that fit into `size`. Limits that are nearly reached, losses and the obstacle
/// begin with '!'; if `colors` is true, they are also red.
std::string view_text(const ViewHead& head, const ServerView& view, const TableSize& size,
                      bool colors);

/// Returns one JSON object. A rate that is not known is null.
std::string view_json(const ViewHead& head, const ServerView& view);

}  // namespace starling::apps
