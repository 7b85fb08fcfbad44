// SPDX-License-Identifier: Apache-2.0
// The keys file: the clients that may use a server, and their rights. KeyRing reads it. It is TOML:
//
//   [server]
//   key = "server.key"       path of the server's key file (protocol/keys), relative to this file
//
//   [[principal]]            at most principals_max of them
//   name = "dispatch"        1 to 64 printable characters; each principal has its own
//   public = "..."           the public key for ZeroMQ, 40 characters of Z85
//   token_sha256 = "..."     the SHA-256 of the bearer token for HTTP, 64 hexadecimal digits. A
//                            principal has a public key, a token, or both
//   roles = ["publish", "query", "subscribe", "tick", "stats", "admin"]   at least one of them
//   streams = ["rider*"]     names of streams; a * at the end stands for any text. Optional
//   objects = ["0-99", "7"]  ids of objects, single ones or ranges. Optional
//   queries = ["5000-5999"]  ids of queries. Optional
//   [principal.quota]        whole numbers, named as the members of Quotas. Optional
//   queries = 1000
//
//   [anonymous]              requests over HTTP without a token. Optional; members as above, but
//   roles = ["stats"]        no name, public or token_sha256
//
// The file holds no secret, but is refused if its group or others may write it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/protocol/keys/key_file.hpp"
#include "starling/stream/access/principal.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

using TokenHash = std::array<std::uint8_t, 32>;

inline constexpr std::size_t keys_file_bytes_max = std::size_t{4} << 20;
inline constexpr std::size_t principals_max = 4096;
inline constexpr std::size_t principal_name_max = 64;  ///< characters

/// A principal, without an id, and the key and the token that it shows. It has at least one of
/// them; the section [anonymous] has none.
struct KeysEntry {
  Principal principal;
  std::optional<zmtp::PublicKey> key{};
  std::optional<TokenHash> token{};
};

struct KeysFile {
  std::string server_key;  ///< path of the server's key file, as the keys file gives it
  std::vector<KeysEntry> principals{};
  std::optional<Principal> anonymous{};
};

/// Reads the text of a keys file. Throws std::runtime_error with one sentence that names `path`,
/// the line and the column at fault. Unknown members are faults.
KeysFile parse_keys_file(std::string_view text, const std::string& path);

/// Reads the file at `path`. Throws as parse_keys_file does, and also if the file cannot be read,
/// is longer than keys_file_bytes_max, or may be written by its group or by others.
KeysFile read_keys_file(const std::string& path);

/// Reads the server's key file that `file` names. `path` is the path of the keys file. Throws as
/// protocol::read_key_file does.
protocol::KeyPair read_server_key(const KeysFile& file, const std::string& path);

}  // namespace starling::stream
