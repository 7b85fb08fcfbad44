// SPDX-License-Identifier: Apache-2.0
// The CURVE key pair of a client or of a server, and the file that holds it. `starling keygen`
// writes the file; clients and `starling serve --keys` read it.
//
// A key file is TOML with these members. Keys are text in ZeroMQ's Z85: 40 characters, 32 bytes.
//   name = "dispatch"       the name of the key's owner
//   public = "..."          the public key, which others may know
//   secret = "..."          the secret key, which only its owner may know
//   server = "..."          optional: the public key of the server to which the client connects
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace starling::protocol {

using CurveKey = std::array<std::uint8_t, 32>;

struct KeyPair {
  std::string name{};
  CurveKey public_key{};
  CurveKey secret_key{};
  std::optional<CurveKey> server_key{};
};

/// Returns a new pair from the system's random numbers.
KeyPair new_key_pair(std::string name);

/// Reads a key file. Throws std::runtime_error if the file cannot be read, is no key file, holds a
/// public key that does not fit its secret key, or may be read or written by others than its owner.
/// The sentence of the error names the file and says what to do.
KeyPair read_key_file(const std::string& path);

/// Returns a public key. `text` is the key in Z85, or the name of a file that holds it: a key file,
/// a part of one with the line public = "...", or the key alone. Does not check the mode of the
/// file. Throws std::runtime_error if `text` is neither; the sentence says what to do.
CurveKey public_key_from(const std::string& text);

/// Writes a new file with mode 0600. Throws std::runtime_error with one sentence if the file exists
/// or cannot be written.
void write_key_file(const std::string& path, const KeyPair& key);

std::string to_z85(const CurveKey& key);
/// Returns std::nullopt if the text is not the Z85 of 32 bytes.
std::optional<CurveKey> from_z85(std::string_view text);

}  // namespace starling::protocol
