// SPDX-License-Identifier: Apache-2.0
// The flags --key and --server-key of all commands that talk to a running server.
#pragma once

#include <optional>
#include <string>

#include "starling/protocol/keys/key_file.hpp"

namespace CLI {
class App;
}

namespace starling::apps {

/// The flags as the user typed them. CLI11 fills this struct, which must outlive the parsing.
struct KeyFlags {
  std::string file;
  std::string server_key;
};

/// Checks the value of --server-key: returns why it is neither a public key nor a file with one, or
/// an empty text.
std::string check_server_key(const std::string& text);

void add_key_flags(CLI::App& command, KeyFlags& flags);

/// Reads the key file that the flags, or else STARLING_KEY, name. Returns std::nullopt if neither
/// names a file. The client then connects without a key. Throws what read_key_file throws, and
/// CLI::ValidationError if there is no key file for --server-key.
std::optional<protocol::KeyPair> key_of(const KeyFlags& flags);

}  // namespace starling::apps
