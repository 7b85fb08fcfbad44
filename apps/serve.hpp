// SPDX-License-Identifier: Apache-2.0
// `starling serve`: runs the server until SIGTERM or SIGINT. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command; what it returns runs it, if the command line chose it, and gives the exit
/// status. Errors of the environment are thrown.
std::function<int()> add_serve(CLI::App& program);

}  // namespace starling::apps
