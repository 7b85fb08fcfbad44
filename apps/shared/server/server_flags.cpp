// SPDX-License-Identifier: Apache-2.0
// Adds the flags and converts them: see server_flags.hpp.
#include "starling/apps/shared/server/server_flags.hpp"

#include <algorithm>
#include <cstdint>

#include <CLI/CLI.hpp>

#include "starling/apps/shared/duration_flag.hpp"

namespace starling::apps {

void add_server_flags(CLI::App& command, ServerFlags& flags) {
  command.add_option("--connect", flags.commands, "The commands endpoint of the server")
      ->type_name("ENDPOINT")
      ->capture_default_str();
  command.add_option("--timeout", flags.timeout, "How long to wait for an answer of the server")
      ->check(is_duration_from(1000))
      ->type_name("DURATION")
      ->capture_default_str();
  add_key_flags(command, flags.key);
}

void add_results_flag(CLI::App& command, std::string& results) {
  command
      .add_option("--results", results,
                  "The results endpoint of the server. Without this flag, the port that the server "
                  "says, on the host of --connect")
      ->type_name("ENDPOINT");
}

void inherit_server_flags(const CLI::App& subcommand, ServerFlags& flags,
                          const ServerFlags& parent) {
  if (subcommand.count("--connect") == 0) flags.commands = parent.commands;
  if (subcommand.count("--timeout") == 0) flags.timeout = parent.timeout;
  if (subcommand.count("--key") == 0) flags.key.file = parent.key.file;
  if (subcommand.count("--server-key") == 0) flags.key.server_key = parent.key.server_key;
}

protocol::ClientOptions client_options(const ServerFlags& flags, const std::string& name) {
  const std::int64_t timeout_ms = duration_us(flags.timeout) / 1000;
  return {.commands = flags.commands,
          .name = name,
          .key = key_of(flags.key),
          .timeout_ms = timeout_ms,
          .connect_timeout_ms = timeout_ms,
          .reconnect_after_ms = std::max<std::int64_t>(timeout_ms / 2, 1)};
}

}  // namespace starling::apps
