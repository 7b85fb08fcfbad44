// SPDX-License-Identifier: Apache-2.0
// Finds the word that is not a command, and the command with the smallest edit distance to it: see
// unknown_command.hpp.
#include "starling/apps/shared/unknown_command.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "starling/sim/files/quoted_text.hpp"

namespace starling::apps {
namespace {

/// Above this edit distance no command is suggested.
constexpr std::size_t suggested_distance_max = 2;

/// Levenshtein distance: the number of letters inserted, deleted or replaced.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  // The distances from a prefix of `from` to each prefix of `to`.
  std::vector<std::size_t> distances(to.size() + 1);
  std::iota(distances.begin(), distances.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = distances[0];
    distances[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = distances[j + 1];
      distances[j + 1] = std::min({replaced, distances[j] + 1, distances[j + 1] + 1});
    }
  }
  return distances.back();
}

/// The commands that --help shows.
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

}  // namespace

std::string describe_unknown_command(const CLI::App& program) {
  const CLI::App* app = &program;
  std::string path = program.get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    path += " " + app->get_name();
  }
  const std::vector<std::string> left = program.remaining(true);
  const bool has_unknown = app->get_require_subcommand_min() > 0 && !left.empty() &&
                           !left.front().empty() && left.front().front() != '-';
  if (!has_unknown) return {};

  const std::vector<std::string> names = command_names(*app);
  const auto nearest = std::ranges::min_element(
      names, {}, [&](const std::string& name) { return edit_distance(left.front(), name); });
  std::string sentence = path + ": unknown command " + sim::quoted_text(left.front());
  if (nearest != names.end() && edit_distance(left.front(), *nearest) <= suggested_distance_max)
    sentence += "; did you mean '" + *nearest + "'? The";
  else
    sentence += "; the";
  sentence += " commands are ";
  for (const std::string& name : names) sentence += (&name == &names.front() ? "" : ", ") + name;
  return sentence;
}

}  // namespace starling::apps
