// SPDX-License-Identifier: Apache-2.0
// `starling info`: prints the version, the engines, the limits and the libraries. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command. The returned function runs it and returns the exit status; main calls it if
/// the command line chose this command. It throws errors of the environment.
std::function<int()> add_info(CLI::App& program);

}  // namespace starling::apps
