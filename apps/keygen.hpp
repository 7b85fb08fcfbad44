// SPDX-License-Identifier: Apache-2.0
// `starling keygen NAME`: makes a key file for a client or a server, or a token for HTTP, and
// prints what goes into the server's keys file. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs the command. main calls this
/// function if the command line chose the command. The function returns the exit status. It throws
/// CLI::ValidationError for wrong usage, and another std::exception for any other failure.
std::function<int()> add_keygen(CLI::App& program);

}  // namespace starling::apps
