// SPDX-License-Identifier: Apache-2.0
// `starling bench`: measures the canonical workloads and prints a table or JSON. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command. The returned function runs it and returns the exit status; main calls it if
/// the command line chose this command.
std::function<int()> add_bench(CLI::App& program);

}  // namespace starling::apps
