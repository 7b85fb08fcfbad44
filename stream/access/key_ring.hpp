// SPDX-License-Identifier: Apache-2.0
// The principals of a server's keys file, found by id, key or token. Access owns the ring. The
// sockets' I/O threads, the WebSocket thread and the loop read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/stream/access/principal.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

/// All functions may be called by any thread.
class KeyRing {
 public:
  /// Makes the ring of a server without keys: every client is anonymous and may do everything.
  KeyRing();
  /// Reads a keys file (keys_file.hpp). Throws std::runtime_error with one sentence that names the
  /// file and the line at fault. With `may_have_anonymous` false, a file with the section
  /// [anonymous] is at fault: it is not known what is in front of the HTTP endpoint.
  explicit KeyRing(const std::string& path, bool may_have_anonymous = true);
  ~KeyRing();

  /// Returns whether the server has a keys file.
  bool has_keys() const;

  /// Reads the keys file again. A name keeps its id, and no two names share an id. Returns the ids
  /// of the principals that are no longer in the file, or have another key, token or other rights
  /// now: their connections must be cut. `names`, if given, gets the names of these principals.
  /// Throws as the constructor does and changes nothing if the file is bad, or if it names another
  /// key of the server.
  std::vector<PrincipalId> reload(std::vector<std::string>* names = nullptr);

  /// Returns the id of a principal's name. A name that is not in the keys file gets an id that it
  /// keeps if the file has it later. Without keys, returns PrincipalId::anonymous for all names.
  PrincipalId id_of(const std::string& name);

  /// Returns the number of principals, without the anonymous one.
  std::size_t count() const;

  /// Returns the principal that has the CURVE key; std::nullopt: no principal has the key.
  std::optional<PrincipalId> by_key(const zmtp::PublicKey& key) const;
  /// Returns the principal that has the bearer token; std::nullopt: no principal has the token.
  /// Compares only hashes of tokens, in constant time.
  std::optional<PrincipalId> by_token(std::string_view token) const;
  /// Returns the principal, or null if it is no longer in the file. PrincipalId::anonymous is the
  /// principal of requests without a key or token: everybody() without a keys file, else the
  /// section [anonymous] of the file, or null if the file has no such section.
  std::shared_ptr<const Principal> principal(PrincipalId id) const;

  /// Returns the server's key pair, with by_key() as the function that admits peers. Null without
  /// keys. The pointer is valid as long as the ring exists.
  const zmtp::Authentication* authentication() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
