// `starling convert TRACE... --to FORMAT --out FILE`: any trace as Starling's own CSV, which loses
// nothing and is recognised, or as a file for other tools.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command; what it returns runs it, if the command line chose it, and gives the exit
/// status. Wrong usage is thrown as CLI::ValidationError, what else fails as std::exception.
std::function<int()> add_convert(CLI::App& program);

}  // namespace starling::apps
