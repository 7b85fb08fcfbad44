// SPDX-License-Identifier: Apache-2.0
// Reads the roads once, at start: see page_network.hpp.
#include "starling/apps/shared/page_network.hpp"

#include <cstddef>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "starling/sim/city/roads/road_lines.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {

namespace {

// The text is limited because the server holds it and copies it for each answer.
constexpr std::size_t network_bytes_max = std::size_t{8} << 20;

}  // namespace

void add_page_network_flag(CLI::App& command, std::string& path) {
  command
      .add_option("--page-network", path,
                  "Show the roads of this SUMO network, FILE.net.xml[.gz|.zst], under the map of "
                  "the live page. Its metres are those of the objects, in a planar space")
      ->type_name("FILE");
}

std::shared_ptr<const std::string> read_page_network(const std::string& path, Space space) {
  if (path.empty()) return nullptr;
  if (space != Space::planar2 && space != Space::planar3)
    throw sim::UsageError(
        "--page-network: a SUMO network is in metres, so it needs objects of a planar space");
  sim::city::RoadNetwork network = sim::city::read_sumo_network(path);
  network.name = std::filesystem::path(path).filename().string();
  return std::make_shared<const std::string>(
      sim::city::road_lines_json(network, network_bytes_max));
}

}  // namespace starling::apps
