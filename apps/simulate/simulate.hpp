// `starling simulate`: a city in which drivers move, riders ask, and a dispatcher matches them by
// the engine's neighbour lists.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command; what it returns runs it, if the command line chose it, and gives the exit
/// status. Wrong usage is thrown as CLI::ValidationError, what else fails as std::exception.
std::function<int()> add_simulate(CLI::App& program);

}  // namespace starling::apps
