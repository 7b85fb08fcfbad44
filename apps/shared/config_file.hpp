// `--config FILE` and STARLING_COMMAND_FLAG for every subcommand: flags over environment over file.
// Called by main after the subcommands are registered.
#pragma once

namespace CLI {
class App;
}

namespace starling::apps {

/// In the file, each subcommand's flags stand under its name: [serve], tick = "100ms". In the
/// environment: STARLING_SERVE_TICK. A key that is no flag of its command is an error that names
/// the file.
void add_config_file(CLI::App& program);

}  // namespace starling::apps
