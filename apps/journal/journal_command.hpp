// SPDX-License-Identifier: Apache-2.0
// `starling journal`: looks into the log of `serve --journal`, checks it, writes its rows as a
// trace and makes it smaller. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs it: see add_streams().
std::function<int()> add_journal(CLI::App& program);

}  // namespace starling::apps
