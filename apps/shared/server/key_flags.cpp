// SPDX-License-Identifier: Apache-2.0
// Adds the flags and reads the key file: see key_flags.hpp.
#include "starling/apps/shared/server/key_flags.hpp"

#include <cstdlib>

#include <CLI/CLI.hpp>

namespace starling::apps {
namespace {

std::string check_z85(const std::string& text) {
  if (protocol::from_z85(text)) return {};
  return "a public key has 40 characters in Z85, as public = \"...\" of a key file shows it; quote "
         "it for the shell";
}

}  // namespace

void add_key_flags(CLI::App& command, KeyFlags& flags) {
  command
      .add_option("--key", flags.file,
                  "The key file of this client, for a server with keys. Without this flag, that of "
                  "the environment variable STARLING_KEY, if it is set. `starling keygen` makes "
                  "key files")
      ->type_name("FILE");
  command
      .add_option("--server-key", flags.server_key,
                  "The server's public key, if the key file does not have it, or has another")
      ->check(CLI::Validator(check_z85, ""))
      ->type_name("KEY");
}

std::optional<protocol::KeyPair> key_of(const KeyFlags& flags) {
  std::string file = flags.file;
  if (const char* const variable = std::getenv("STARLING_KEY"); file.empty() && variable != nullptr)
    file = variable;
  if (file.empty() && !flags.server_key.empty())
    throw CLI::ValidationError("--server-key", "needs a key of this client, too; give --key FILE");
  if (file.empty()) return std::nullopt;
  protocol::KeyPair key = protocol::read_key_file(file);
  if (!flags.server_key.empty()) key.server_key = protocol::from_z85(flags.server_key);
  return key;
}

}  // namespace starling::apps
