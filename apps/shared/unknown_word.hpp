// SPDX-License-Identifier: Apache-2.0
// The error sentence for a mistyped command or flag. Called by main.cpp when the command line
// cannot be parsed.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace starling::apps {

/// Call after a failed parse. Returns one sentence that names the unknown command or flag and the
/// one with the most similar name: "starling: unknown command 'serv'; did you mean 'serve'? ...",
/// "starling serve: unknown flag '--tik'; did you mean --tick? ...". Returns an empty text if the
/// failure has another reason.
std::string describe_unknown_word(const CLI::App& program);

/// Returns the names of the commands of `app` that --help shows.
std::vector<std::string> command_names(const CLI::App& app);

}  // namespace starling::apps
