// SPDX-License-Identifier: Apache-2.0
// `starling convert TRACE... --to FORMAT --out FILE`: writes a trace as Starling's own CSV, which
// keeps all data, or as a file for other tools. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs the command. main calls this
/// function if the command line chose the command. The function returns the exit status. It throws
/// CLI::ValidationError for wrong usage, and another std::exception for any other failure.
std::function<int()> add_convert(CLI::App& program);

}  // namespace starling::apps
