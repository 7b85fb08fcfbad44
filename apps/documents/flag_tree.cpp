// SPDX-License-Identifier: Apache-2.0
// Reads CLI11's tree: see flag_tree.hpp.
#include "starling/apps/documents/flag_tree.hpp"

#include <cstddef>
#include <regex>
#include <sstream>

#include <CLI/CLI.hpp>

namespace starling::apps {
namespace {

/// CLI11's type name is a word and the descriptions of the checks: "TEXT:{auto,cpu,cuda}" or
/// "UINT:INT in [0 - 1024]".
void read_type(const std::string& type, Flag& flag) {
  flag.value = type.substr(0, type.find(':'));
  if (type.starts_with("HOST:PORT")) flag.value = "HOST:PORT";
  if (flag.value.empty()) flag.value = "PATH";  // CLI11's own --config has no word
  std::smatch found;
  if (std::regex_search(type, found, std::regex(R"(\{([^}]*)\})"))) {
    std::istringstream words(found[1].str());
    for (std::string word; std::getline(words, word, ',');) flag.choices.push_back(word);
  } else if (std::regex_search(type, found, std::regex(R"(in \[(\S+) - (\S+)\])"))) {
    flag.range = found[1].str() + " to " + found[2].str();
  }
}

Flag read_flag(const CLI::Option& option) {
  Flag flag;
  if (option.get_positional()) {
    flag.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  }
  flag.group = option.get_group();
  flag.description = option.get_description();
  const std::size_t of_machine = flag.description.find(" On this machine: ");
  if (of_machine != std::string::npos) flag.description.resize(of_machine);
  if (option.get_items_expected_max() != 0) {
    read_type(option.get_type_name(), flag);
    flag.shown_default = option.get_default_str();
  }
  flag.variable = option.get_envname();
  flag.is_required = option.get_required();
  flag.is_repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  flag.value_count = option.get_items_expected_min();
  return flag;
}

Command read_command(const CLI::App& app, std::vector<std::string> path) {
  Command command;
  command.path = std::move(path);
  const std::string text = app.get_description();
  const std::size_t line_end = std::min(text.find('\n'), text.size());
  command.summary = text.substr(0, line_end);
  while (command.summary.ends_with(':') || command.summary.ends_with('.'))
    command.summary.pop_back();
  if (line_end < text.size()) command.details = text.substr(line_end + 1);
  command.footer = app.get_footer();
  command.needs_command = app.get_require_subcommand_min() > 0;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? command.positionals : command.flags).push_back(read_flag(*option));
  }
  for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_group().empty()) continue;
    std::vector<std::string> path_below = command.path;
    path_below.push_back(below->get_name());
    command.commands.push_back(read_command(*below, std::move(path_below)));
  }
  return command;
}

}  // namespace

bool Flag::may_be_path() const {
  return choices.empty() && (value == "TEXT" || value == "PATH" || value == "DIR");
}

Command flag_tree(const CLI::App& program) {
  return read_command(program, {program.get_name()});
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (&word == &words.front() ? "" : between) + word;
  return text;
}

std::string first_sentence(const std::string& text) {
  std::string sentence = text.substr(0, text.find(". "));
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

std::vector<const Command*> all_commands(const Command& command) {
  std::vector<const Command*> all{&command};
  for (const Command& below : command.commands)
    for (const Command* const each : all_commands(below)) all.push_back(each);
  return all;
}

}  // namespace starling::apps
