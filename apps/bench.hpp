// `starling bench`: the canonical workloads, as a table or JSON. Called by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command; what it returns runs it, if the command line chose it, and gives the exit
/// status.
std::function<int()> add_bench(CLI::App& program);

}  // namespace starling::apps
