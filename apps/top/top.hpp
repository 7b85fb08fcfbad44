// SPDX-License-Identifier: Apache-2.0
// `starling top`: shows a running server's rates, stage times, limits and losses. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs the command. main calls this
/// function if the command line chose the command. The function returns the exit status. It throws
/// std::exception if the command fails.
std::function<int()> add_top(CLI::App& program);

}  // namespace starling::apps
