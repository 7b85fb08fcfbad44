// SPDX-License-Identifier: Apache-2.0
// `starling bench`: measures the canonical workloads and prints a table or JSON. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs the command. main calls this
/// function if the command line chose the command. The function returns the exit status.
std::function<int()> add_bench(CLI::App& program);

}  // namespace starling::apps
