// SPDX-License-Identifier: Apache-2.0
// The flag --config FILE and the STARLING_COMMAND_FLAG variables of every command. The command line
// overrides the environment, and the environment overrides the file. Called by main.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace starling::apps {

/// Call after all commands are registered. The file has a section for each command. For example,
/// tick = "100ms" in the section [serve] sets the flag --tick of `starling serve`, as the variable
/// STARLING_SERVE_TICK does. If a key of the file is not a flag of the section's command, parsing
/// fails with an error that names the file, the line and the nearest key.
void add_config_file(CLI::App& program);

/// Call after parsing. Throws CLI::ConfigError if an environment variable begins with the prefix of
/// the chosen command, such as STARLING_SERVE_, and belongs to none of the command's flags.
/// Variables of other commands are ignored.
void check_environment(const CLI::App& program);

/// Returns where the value of an option of `command` came from: "default", the name of an
/// environment variable, the path of the --config file, or "command line". `texts` is the value as
/// it was written, before any check changed it; empty if the option has no value. Call after
/// parsing.
std::string source_of(const CLI::App& program, const CLI::App& command, const CLI::Option& option,
                      const std::vector<std::string>& texts);

}  // namespace starling::apps
