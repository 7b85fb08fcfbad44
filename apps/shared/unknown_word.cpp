// SPDX-License-Identifier: Apache-2.0
// Finds the word that is neither a command nor a flag, and the most similar name: see
// unknown_word.hpp.
#include "starling/apps/shared/unknown_word.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <CLI/CLI.hpp>

#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::apps {
namespace {

/// Above this edit distance no name is suggested.
constexpr std::size_t suggested_distance_max = 2;

bool is_same(char one, char other) {
  return one == other || ((one == '-' || one == '_') && (other == '-' || other == '_'));
}

/// Levenshtein distance: the number of letters inserted, deleted or replaced.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  // The distances from a prefix of `from` to each prefix of `to`.
  std::vector<std::size_t> distances(to.size() + 1);
  std::iota(distances.begin(), distances.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = distances[0];
    distances[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (is_same(from[i], to[j]) ? 0 : 1);
      diagonal = distances[j + 1];
      distances[j + 1] = std::min({replaced, distances[j] + 1, distances[j + 1] + 1});
    }
  }
  return distances.back();
}

/// Returns the most similar name, or an empty text if none is similar: at least half of a name's
/// letters must be right.
std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  const auto distance_to = [word](const std::string& name) { return edit_distance(word, name); };
  const auto nearest = std::ranges::min_element(names, {}, distance_to);
  if (nearest == names.end()) return {};
  const std::size_t distance = distance_to(*nearest);
  const std::size_t letters =
      nearest->size() - std::min(nearest->find_first_not_of('-'), nearest->size());
  return distance <= suggested_distance_max && 2 * distance <= letters ? *nearest : std::string();
}

/// Returns the flags that --help shows, including those of the parent commands.
std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each = &app; each != nullptr; each = each->get_parent())
    for (const CLI::Option* option : each->get_options())
      if (!option->get_group().empty())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Neither a number below zero nor "--" is a flag.
bool is_flag(std::string_view word) {
  return word.size() > 1 && word != "--" && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') &&
         word[1] != '.';
}

std::string describe_command(const CLI::App& app, const std::string& path,
                             const std::string& word) {
  const std::vector<std::string> names = command_names(app);
  const std::string nearest = nearest_name(word, names);
  std::string sentence = path + ": unknown command " + sim::quoted_text(word);
  sentence += nearest.empty() ? "; the" : "; did you mean '" + nearest + "'? The";
  sentence += " commands are ";
  for (const std::string& name : names) sentence += (&name == &names.front() ? "" : ", ") + name;
  return sentence;
}

std::string describe_flag(const CLI::App& app, const std::string& path, std::string_view word) {
  const std::string name(word.substr(0, word.find('=')));
  const std::string meant = did_you_mean(name, flag_names(app));
  return path + ": unknown flag " + sim::quoted_text(name) + meant + (meant.empty() ? "; " : " ") +
         path + " --help shows all flags";
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  const std::string name = nearest_name(word, names);
  return name.empty() ? name : "; did you mean " + name + "?";
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

std::string describe_unknown_word(const CLI::App& program) {
  const CLI::App* app = &program;
  std::string path = program.get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    path += " " + app->get_name();
  }
  const std::vector<std::string> left = program.remaining(true);
  const bool wants_command = app->get_require_subcommand_min() > 0;
  if (wants_command && !left.empty() && !left.front().empty() && left.front().front() != '-')
    return describe_command(*app, path, left.front());
  const auto flag = std::ranges::find_if(left, is_flag);
  return flag == left.end() ? std::string() : describe_flag(*app, path, *flag);
}

}  // namespace starling::apps
