// SPDX-License-Identifier: Apache-2.0
// Adds the flags of the space, and checks which of them fit together: see space_flags.hpp. Called
// by serve.cpp.
#include "starling/apps/shared/space_flags.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace starling::apps {
namespace {

constexpr std::string_view vector_prefix = "vector:";

std::uint32_t dimension_of(const std::string& text) {
  std::uint32_t dimension = 0;
  const std::string number =
      text.starts_with(vector_prefix) ? text.substr(vector_prefix.size()) : "";
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, dimension);
  if (parsed.ec != std::errc() || parsed.ptr != end || dimension < 1 || dimension > dimension_max)
    throw CLI::ValidationError("--space", "\"" + text + "\" has no dimension of 1 to " +
                                              std::to_string(dimension_max) + "; write vector:128");
  return dimension;
}

void set_space(const std::string& text, SpaceOptions& space) {
  if (text == "vector" || text.starts_with(vector_prefix)) {
    space.dimension = dimension_of(text);
    space.space = Space::vector;
    return;
  }
  const auto chosen = space_from_string(text);
  if (!chosen)
    throw CLI::ValidationError(
        "--space", "\"" + text + "\" is neither planar2, planar3, wgs84 nor vector:DIMENSION");
  space.space = *chosen;
  space.dimension = 0;
}

}  // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric metric : all_metrics) names.emplace_back(name_of(metric));
  return names;
}

void add_space_flags(CLI::App& command, SpaceFlags& flags) {
  SpaceOptions& space = flags.space;
  command
      .add_option_function<std::string>(
          "--space", [&space](const std::string& text) { set_space(text, space); },
          "The space of the objects: planar2 or planar3 (metres), wgs84 (longitude, latitude, "
          "altitude), or vector:DIMENSION with 1 to 4096 components")
      ->type_name("SPACE")
      ->default_str("planar2");
  flags.metric =
      command
          .add_option_function<std::string>(
              "--metric", [&space](const std::string& text) { space.metric = *metric_named(text); },
              "For --space vector:DIMENSION: the metric that ranks neighbours [l2]")
          ->check(CLI::IsMember(metric_names()));
  flags.resolution = command
                         .add_option("--resolution", space.resolution_m,
                                     "Positions are rounded to multiples of this many metres")
                         ->capture_default_str();
  flags.origin = command
                     .add_option_function<std::vector<double>>(
                         "--origin",
                         [&space](const std::vector<double>& origin) {
                           std::copy(origin.begin(), origin.end(), space.origin.begin());
                         },
                         "The origin of a planar space: X,Y or X,Y,Z in metres [0,0,0]")
                     ->delimiter(',')
                     ->expected(2, 3);
}

std::string name_of(const SpaceOptions& space) {
  if (!space.is_vector()) return std::string(to_string(space.space));
  return std::string(vector_prefix) + std::to_string(space.dimension) + " " +
         std::string(name_of(space.metric));
}

void check_space_flags(const SpaceFlags& flags) {
  const bool is_vector = flags.space.is_vector();
  if (!is_vector && flags.metric->count() > 0)
    throw CLI::ValidationError(
        "--metric", "only vectors have one; add --space vector:DIMENSION, or leave it out");
  for (const CLI::Option* option : {flags.resolution, flags.origin})
    if (is_vector && option->count() > 0)
      throw CLI::ValidationError(option->get_name(),
                                 "vectors have none; leave it out, or choose another --space");
}

}  // namespace starling::apps
