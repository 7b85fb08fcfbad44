// SPDX-License-Identifier: Apache-2.0
// The error sentence for a mistyped command. Called by main.cpp when the command line cannot be
// parsed.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace starling::apps {

/// Call after a failed parse. Returns one sentence that names the unknown command, the command with
/// the most similar name, and all commands: "starling: unknown command 'serv'; did you mean
/// 'serve'? ...". Returns an empty text if the failure has another reason.
std::string describe_unknown_command(const CLI::App& program);

}  // namespace starling::apps
