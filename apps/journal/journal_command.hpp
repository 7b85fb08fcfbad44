// SPDX-License-Identifier: Apache-2.0
// `starling journal info` and `starling journal check`: read the log of `serve --journal`, and
// change nothing. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs it: see add_streams().
std::function<int()> add_journal(CLI::App& program);

}  // namespace starling::apps
