// `starling knn --points FILE --queries FILE --out FILE`: exact nearest vectors in batch, the graph
// of all points, and what neighbours' labels vote for.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command; what it returns runs it, if the command line chose it, and gives the exit
/// status. Wrong usage is thrown as CLI::ValidationError, what else fails as std::exception.
std::function<int()> add_knn(CLI::App& program);

}  // namespace starling::apps
