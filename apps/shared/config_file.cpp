// Gives every subcommand's flag a STARLING_* variable and a place in the file: see config_file.hpp.
#include "apps/shared/config_file.hpp"

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sim/files/quoted_text.hpp"

namespace starling::apps {

namespace {

// Per command, since one flag means different things: --tick of serve takes "manual".
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

// CLI11 looks at the file before the environment and keeps what it saw first; what the environment
// says is therefore left out here.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
  explicit FileBelowEnvironment(const CLI::App& program) : program_(program) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    auto found = CLI::ConfigTOML::from_config(input);
    for (const CLI::ConfigItem& item : found) check(item);
    std::erase_if(found, [](const CLI::ConfigItem& item) {
      return item.parents.size() == 1 &&
             std::getenv(environment_name(item.parents.front(), item.name).c_str()) != nullptr;
    });
    return found;
  }

 private:
  /// CLI11's own check would not say which file.
  void check(const CLI::ConfigItem& item) const {
    const CLI::App* command = &program_;
    for (const std::string& section : item.parents) {
      const CLI::App* const parent = command;
      const auto under = parent->get_subcommands(
          [&](const CLI::App* each) { return each->get_name() == section; });
      if (under.empty()) refuse("there is no command " + sim::quoted_text(section));
      command = under.front();
    }
    const bool is_section_mark = item.name == "++" || item.name == "--";
    if (is_section_mark || find_option(*command, item.name) != nullptr) return;
    if (command == &program_)
      refuse("the key " + sim::quoted_text(item.name) +
             " stands under no command; flags stand under theirs, such as [serve]");
    refuse("[" + command->get_name() + "] has the unknown key " + sim::quoted_text(item.name));
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw CLI::ConfigError("--config: " + program_.get_config_ptr()->as<std::string>() + ": " + why,
                           CLI::ExitCodes::ConfigError);
  }

  const CLI::App& program_;
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

}  // namespace starling::apps
