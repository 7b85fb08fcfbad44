// SPDX-License-Identifier: Apache-2.0
// The flag --page-network FILE of the commands that serve the live page: the roads under its map.
#pragma once

#include <memory>
#include <string>

#include "starling/knn/words/space.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the flag. `path` must outlive the command.
void add_page_network_flag(CLI::App& command, std::string& path);

/// Returns the answer to GET /v1/network: the roads of a SUMO network as JSON. Returns null if
/// `path` is empty. Throws sim::UsageError if the space is not planar, sim::InputError if the file
/// is no network, and std::runtime_error if it cannot be read.
std::shared_ptr<const std::string> read_page_network(const std::string& path, Space space);

}  // namespace starling::apps
