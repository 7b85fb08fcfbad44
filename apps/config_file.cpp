// Gives every subcommand's flag a STARLING_* variable and a place in the file: see config_file.hpp.
#include "apps/config_file.hpp"

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

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

// CLI11 looks at the file before the environment and keeps what it saw first; what the environment
// says is therefore left out here.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    auto found = CLI::ConfigTOML::from_config(input);
    std::erase_if(found, [](const CLI::ConfigItem& item) {
      return item.parents.size() == 1 &&
             std::getenv(environment_name(item.parents.front(), item.name).c_str()) != nullptr;
    });
    return found;
  }
};

}  // namespace

void add_config_file(CLI::App& program) {
  program.set_config("--config", "", "Read flags from this TOML file")->envname("STARLING_CONFIG");
  program.config_formatter(std::make_shared<FileBelowEnvironment>());
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
