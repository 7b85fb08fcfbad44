// SPDX-License-Identifier: Apache-2.0
// `starling journal`: prints what a log of `serve --journal` holds, checks, copies and compacts the
// log, and exports its rows as a trace. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs the command. main calls this
/// function if the command line chose the command. The function returns the exit status. It throws
/// std::exception if the command fails.
std::function<int()> add_journal(CLI::App& program);

}  // namespace starling::apps
