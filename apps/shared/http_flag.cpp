// SPDX-License-Identifier: Apache-2.0
// Splits the text at its last colon: see http_flag.hpp.
#include "starling/apps/shared/http_flag.hpp"

#include <CLI/CLI.hpp>

namespace starling::apps {

void add_http_flag(CLI::App& command, std::string& host, std::uint16_t& port,
                   const std::string& help) {
  command
      .add_option_function<std::string>(
          "--http",
          [&host, &port](const std::string& text) {
            const std::size_t colon = text.rfind(':');
            const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
            if (!CLI::detail::lexical_cast(number, port) || colon == 0)
              throw CLI::ValidationError("--http", "\"" + text + "\" is not HOST:PORT");
            host = text.substr(0, colon);
          },
          help)
      ->type_name("HOST:PORT")
      ->default_str(host + ":" + std::to_string(port));
}

}  // namespace starling::apps
