// SPDX-License-Identifier: Apache-2.0
// Finds the word that is neither a command nor a flag, and the most similar name: see
// unknown_word.hpp.
#include "starling/apps/shared/unknown_word.hpp"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

#include "starling/apps/shared/nearest_name.hpp"
#include "starling/sim/files/quoted_text.hpp"

namespace starling::apps {
namespace {

/// The flags that --help shows, those of the commands above included.
std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each = &app; each != nullptr; each = each->get_parent())
    for (const CLI::Option* option : each->get_options())
      if (!option->get_group().empty())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// A number below zero is no flag.
bool is_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
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
