// `starling subscribe STREAM`: follows a stream and shows it as a live table, CSV or NDJSON. Called
// by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command; what it returns runs it, if the command line chose it, and gives the exit
/// status. Errors of the environment are thrown.
std::function<int()> add_subscribe(CLI::App& program);

}  // namespace starling::apps
