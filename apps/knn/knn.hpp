// SPDX-License-Identifier: Apache-2.0
// `starling knn --points FILE --queries FILE --out FILE`: finds the exact nearest vectors or all
// within a radius, the k-NN graph of all points, and labels by the vote of the neighbours. Called
// by main.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the command to `program`, and returns the function that runs the command. main calls this
/// function if the command line chose the command. The function returns the exit status. It throws
/// CLI::ValidationError for wrong usage, and another std::exception for any other failure.
std::function<int()> add_knn(CLI::App& program);

}  // namespace starling::apps
