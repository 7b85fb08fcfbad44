// SPDX-License-Identifier: Apache-2.0
// The flags --connect, --results, --timeout and --key of the commands that talk to a running
// server, and the options of a client that they give.
#pragma once

#include <string>

#include "starling/apps/shared/server/key_flags.hpp"
#include "starling/protocol/client/client.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

/// The flags as the user typed them. CLI11 fills this struct, which must outlive the parsing.
struct ServerFlags {
  std::string commands = "tcp://127.0.0.1:7411";
  std::string timeout = "3s";
  KeyFlags key;
};

void add_server_flags(CLI::App& command, ServerFlags& flags);
/// Adds --results. Without the flag, `results` stays empty, and a Subscriber gets the endpoint from
/// the server.
void add_results_flag(CLI::App& command, std::string& results);

/// Copies `parent`'s flags to `flags`, except those that the subcommand sets itself. `parent` has
/// the flags before the subcommand's word, and those from the environment and the file. For
/// example, both `put --connect E stream s` and `put stream s --connect E` name a server.
void inherit_server_flags(const CLI::App& subcommand, ServerFlags& flags,
                          const ServerFlags& parent);

/// `name` appears in the server's log. Throws what key_of throws.
protocol::ClientOptions client_options(const ServerFlags& flags, const std::string& name);

}  // namespace starling::apps
