// SPDX-License-Identifier: Apache-2.0
// `starling replay TRACE...`: runs a recorded trace through an embedded engine or into a server,
// and writes every neighbour list as CSV. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs the command. main calls this
/// function if the command line chose the command. The function returns the exit status. It throws
/// CLI::ValidationError for wrong usage, and another std::exception for any other failure.
std::function<int()> add_replay(CLI::App& program);

}  // namespace starling::apps
