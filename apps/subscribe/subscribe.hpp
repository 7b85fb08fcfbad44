// SPDX-License-Identifier: Apache-2.0
// `starling subscribe STREAM`: follows a stream and shows it as a live table, as CSV or as NDJSON.
// Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command. The returned function runs it and returns the exit status; main calls it if
/// the command line chose this command. It throws errors of the environment.
std::function<int()> add_subscribe(CLI::App& program);

}  // namespace starling::apps
