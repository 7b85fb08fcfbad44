// SPDX-License-Identifier: Apache-2.0
// `--config FILE` and the STARLING_COMMAND_FLAG variables of every command. The command line
// overrides the environment, and the environment overrides the file. Called by main.
#pragma once

namespace CLI {
class App;
}

namespace starling::apps {

/// Call after all commands are registered. The file has a section for each command: [serve], tick =
/// "100ms". The environment variable is STARLING_SERVE_TICK. A key of the file that is not a flag
/// of its command is an error that names the file.
void add_config_file(CLI::App& program);

/// Call after parsing. Throws CLI::ConfigError if a STARLING_COMMAND_* variable of the command that
/// the command line chose belongs to none of its flags. Variables of other commands are ignored.
void check_environment(const CLI::App& program);

}  // namespace starling::apps
