// SPDX-License-Identifier: Apache-2.0
// `starling documents`: writes the documents that packages install beside the program. The build
// runs this command, and --help does not show it. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs the command. main calls this
/// function if the command line chose the command. The function writes the man pages, the
/// completions and starling.toml into a folder, and returns the exit status. It throws
/// std::exception if it cannot write.
std::function<int()> add_documents(CLI::App& program);

}  // namespace starling::apps
