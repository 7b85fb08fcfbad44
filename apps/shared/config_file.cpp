// SPDX-License-Identifier: Apache-2.0
// Gives every subcommand's flag a STARLING_* variable and a place in the file: see config_file.hpp.
#include "starling/apps/shared/config_file.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "starling/apps/shared/unknown_word.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::apps {

namespace {

// Each command has variables of its own, because two commands can have different flags with the
// same name. For example, --tick takes "manual" in serve only.
std::string environment_name(const std::string& command, const std::string& flag) {
  std::string name = "STARLING_";
  name.append(command).append("_").append(flag);
  for (char& letter : name)
    letter =
        letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw("--" + name);
  if (option == nullptr && name.size() == 1) option = command.get_option_no_throw("-" + name);
  return option != nullptr ? option : command.get_option_no_throw(name);
}

/// Returns the keys that the command's section may have.
std::vector<std::string> key_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_group().empty())
      names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  return names;
}

/// Removes the comment after a section's name, as in `[serve] # text`. CLI11 does not allow a
/// comment there.
std::string without_section_comments(std::string_view file) {
  std::string text;
  while (!file.empty()) {
    std::string_view line = file.substr(0, std::min(file.find('\n'), file.size() - 1) + 1);
    file.remove_prefix(line.size());
    const std::size_t end = line.find(']');
    if (sim::trim(line).starts_with('[') && end != std::string_view::npos &&
        sim::trim(line.substr(end + 1)).starts_with('#')) {
      text.append(line.substr(0, end + 1)).append("\n");
    } else {
      text.append(line);
    }
  }
  return text;
}

std::string_view unquoted(std::string_view key) {
  const bool is_quoted =
      key.size() > 1 && key.front() == key.back() && (key[0] == '"' || key[0] == '\'');
  return is_quoted ? key.substr(1, key.size() - 2) : key;
}

/// Returns the number, from 1, of the line that sets the key `path`, such as "serve.tick", or that
/// begins the section `path`. Returns 0 if there is no such line. CLI11 does not keep line numbers.
std::size_t line_of(std::string_view file, const std::string& path) {
  std::string section;
  for (std::size_t number = 1; !file.empty(); ++number) {
    const std::string_view line = sim::trim(file.substr(0, file.find('\n')));
    file.remove_prefix(std::min(file.find('\n'), file.size() - 1) + 1);
    if (line.starts_with('[') && line.ends_with(']')) {
      section = line.substr(1, line.size() - 2);
      if (section == path) return number;
      section += '.';
    } else if (line.find('=') != std::string_view::npos) {
      if (section + std::string(unquoted(sim::trim(line.substr(0, line.find('='))))) == path)
        return number;
    }
  }
  return 0;
}

// CLI11 reads the file before the environment and keeps the first value. This reader therefore
// drops the keys of the file that the environment sets too.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
  explicit FileBelowEnvironment(const CLI::App& program) : program_(program) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    text_ = without_section_comments(std::string(std::istreambuf_iterator<char>(input), {}));
    std::istringstream text(text_);
    auto found = CLI::ConfigTOML::from_config(text);
    for (const CLI::ConfigItem& item : found) check(item);
    std::erase_if(found, [](const CLI::ConfigItem& item) {
      return item.parents.size() == 1 &&
             std::getenv(environment_name(item.parents.front(), item.name).c_str()) != nullptr;
    });
    items_ = found;
    return found;
  }

  /// Returns the values that the file gives to a flag. The result is empty if the file gives none,
  /// or if the environment sets the flag.
  std::vector<std::string> value_of(const std::string& command, const std::string& flag) const {
    for (const CLI::ConfigItem& item : items_)
      if (item.parents == std::vector{command} && item.name == flag) return item.inputs;
    return {};
  }

 private:
  /// Refuses unknown keys. CLI11's own check would not name the file.
  void check(const CLI::ConfigItem& item) const {
    const CLI::App* command = &program_;
    std::string path;
    for (const std::string& section : item.parents) {
      const CLI::App* const parent = command;
      const auto under = parent->get_subcommands(
          [&](const CLI::App* each) { return each->get_name() == section; });
      path += section;
      if (under.empty())
        refuse(path, "there is no command " + sim::quoted_text(section) +
                         did_you_mean(section, command_names(*parent)));
      command = under.front();
      path += '.';
    }
    const bool is_section_mark = item.name == "++" || item.name == "--";
    if (is_section_mark || find_option(*command, item.name) != nullptr) return;
    path += item.name;
    if (command == &program_)
      refuse(path, "the key " + sim::quoted_text(item.name) +
                       " stands under no command; write it under its command's name, such as "
                       "[serve]");
    refuse(path, "[" + command->get_name() + "] has the unknown key " +
                     sim::quoted_text(item.name) + did_you_mean(item.name, key_names(*command)));
  }

  /// `path` is the faulty key with its sections before it, such as "serve.tick".
  [[noreturn]] void refuse(const std::string& path, const std::string& why) const {
    const std::size_t line = line_of(text_, path);
    throw CLI::ConfigError("--config: " + program_.get_config_ptr()->as<std::string>() + ":" +
                               (line == 0 ? "" : std::to_string(line) + ":") + " " + why,
                           CLI::ExitCodes::ConfigError);
  }

  const CLI::App& program_;
  mutable std::string text_;                    ///< the last file that was read
  mutable std::vector<CLI::ConfigItem> items_;  ///< the settings in text_
};

}  // namespace

void add_config_file(CLI::App& program) {
  program.set_config("--config", "", "Read flags from this TOML file")->envname("STARLING_CONFIG");
  program.config_formatter(std::make_shared<FileBelowEnvironment>(program));
  for (CLI::App* command : program.get_subcommands({})) {
    command->fallthrough();  // --config may stand after the subcommand
    for (CLI::Option* option : command->get_options()) {
      const bool is_flag = !option->get_positional() && !option->get_lnames().empty();
      if (is_flag && option->get_lnames().front() != "help")
        option->envname(environment_name(command->get_name(), option->get_lnames().front()));
    }
  }
}

void check_environment(const CLI::App& program) {
  const CLI::App& command = *program.get_subcommands().front();
  const std::string prefix = environment_name(command.get_name(), "");
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with(prefix)) continue;
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options())
      if (!option->get_envname().empty()) known.push_back(option->get_envname());
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string meant = did_you_mean(name, known);
    throw CLI::ConfigError(std::string(name) + ": starling " + command.get_name() +
                               " has no such environment variable" + meant +
                               (meant.empty() ? "; unset it, or see" : " Unset it, or see") +
                               " starling " + command.get_name() + " --help",
                           CLI::ExitCodes::ConfigError);
  }
}

std::string source_of(const CLI::App& program, const CLI::App& command, const CLI::Option& option,
                      const std::vector<std::string>& texts) {
  if (texts.empty()) return "default";
  const auto joined = [](const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    return text;
  };
  const char* const variable = std::getenv(option.get_envname().c_str());
  if (variable != nullptr && *variable != '\0')
    return joined(texts) == variable ? option.get_envname() : "command line";
  const auto file = std::dynamic_pointer_cast<FileBelowEnvironment>(program.get_config_formatter());
  const std::string flag = option.get_lnames().front();
  if (file && joined(file->value_of(command.get_name(), flag)) == joined(texts))
    return program.get_config_ptr()->as<std::string>();
  return "command line";
}

}  // namespace starling::apps
