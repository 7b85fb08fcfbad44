// SPDX-License-Identifier: Apache-2.0
// Adds the flags and reads the key file: see key_flags.hpp.
#include "starling/apps/shared/server/key_flags.hpp"

#include <cstdlib>
#include <stdexcept>

#include <CLI/CLI.hpp>

namespace starling::apps {

std::string check_server_key(const std::string& text) {
  try {
    protocol::public_key_from(text);
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

void add_key_flags(CLI::App& command, KeyFlags& flags) {
  command
      .add_option("--key", flags.file,
                  "The key file of this client, for a server with keys. Without this flag, that of "
                  "the environment variable STARLING_KEY, if it is set. `starling keygen` makes "
                  "key files")
      ->type_name("FILE");
  command
      .add_option(
          "--server-key", flags.server_key,
          "The server's public key, or a file with it, such as the server's key file; for a "
          "key file that does not have it, or has another")
      ->check(CLI::Validator(check_server_key, ""))
      ->type_name("KEY|FILE");
}

std::optional<protocol::KeyPair> key_of(const KeyFlags& flags) {
  std::string file = flags.file;
  if (const char* const variable = std::getenv("STARLING_KEY"); file.empty() && variable != nullptr)
    file = variable;
  if (file.empty() && !flags.server_key.empty())
    throw CLI::ValidationError("--server-key", "needs a key of this client, too; give --key FILE");
  if (file.empty()) return std::nullopt;
  protocol::KeyPair key = protocol::read_key_file(file);
  if (!flags.server_key.empty()) key.server_key = protocol::public_key_from(flags.server_key);
  return key;
}

}  // namespace starling::apps
