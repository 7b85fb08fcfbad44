// `starling replay TRACE...`: runs recorded movement through an embedded engine or into a server,
// and writes every neighbour list as CSV.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command; what it returns runs it, if the command line chose it, and gives the exit
/// status. Wrong usage is thrown as CLI::ValidationError, what else fails as std::exception.
std::function<int()> add_replay(CLI::App& program);

}  // namespace starling::apps
