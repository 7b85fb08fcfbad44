// SPDX-License-Identifier: Apache-2.0
// The principals of a server, as its keys file says. Server owns the ring; the I/O threads of the
// sockets, the thread of the WebSockets and the loop ask it.
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
  /// The ring of a server without keys: every client is anonymous and may do everything.
  KeyRing();
  /// Reads a keys file (keys_file.hpp). Throws std::runtime_error with one sentence that names the
  /// file and the line at fault.
  explicit KeyRing(const std::string& path);
  ~KeyRing();

  /// Returns false if this is the ring of a server without keys.
  bool has_keys() const;

  /// Reads the keys file again. A principal of the same name keeps its id; no id is used for two
  /// names. Returns the ids of those who are no longer in the file or whose key, token or rights
  /// have changed: their connections must be cut. If the file is bad, throws as the constructor
  /// does, and everything stays.
  /// `names`, if given, gets the names of those whose ids are returned.
  std::vector<PrincipalId> reload(std::vector<std::string>* names = nullptr);

  /// Returns the id of the principal of this name, now or when the keys file has it. Without keys,
  /// all names are the anonymous principal.
  PrincipalId id_of(const std::string& name);

  /// Returns the number of principals, without the anonymous one.
  std::size_t count() const;

  /// Returns the principal that has the CURVE key; std::nullopt: none has it.
  std::optional<PrincipalId> by_key(const zmtp::PublicKey& key) const;
  /// Returns the principal that has the bearer token; std::nullopt: none has it. Only hashes of
  /// tokens are compared, in constant time.
  std::optional<PrincipalId> by_token(std::string_view token) const;
  /// Returns the principal, or null if it is no longer in the file. PrincipalId::anonymous is the
  /// principal of requests without a key or token: everybody() without a keys file, else the
  /// section [anonymous] of the file, or null if there is none.
  std::shared_ptr<const Principal> principal(PrincipalId id) const;

  /// The server's keys and by_key(). Null without keys. Valid as long as the ring.
  const zmtp::Authentication* authentication() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
