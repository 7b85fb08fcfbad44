// SPDX-License-Identifier: Apache-2.0
// The flag --http HOST:PORT of the commands that run a server.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the flag. `host` and `port` hold the default and must outlive the command.
void add_http_flag(CLI::App& command, std::string& host, std::uint16_t& port,
                   const std::string& help);

}  // namespace starling::apps
