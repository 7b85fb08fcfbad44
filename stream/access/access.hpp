// SPDX-License-Identifier: Apache-2.0
// Access decides which peers the sockets admit and what the peers may request. It joins the KeyRing
// and the audit log, which gets a line for each peer and each refusal. Server owns the Access.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/protocol/wire/socket_codec.hpp"
#include "starling/stream/access/audit.hpp"
#include "starling/stream/access/key_ring.hpp"

namespace starling::stream {

/// All functions may be called by any thread.
class Access {
 public:
  /// `keys_path` is the path of the keys file; empty: the server has no keys. `may_have_anonymous`
  /// is for KeyRing. Throws as KeyRing does.
  Access(const std::string& keys_path, AuditOptions audit, bool may_have_anonymous = true);
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  KeyRing& ring() { return *ring_; }
  const KeyRing& ring() const { return *ring_; }
  Audit& audit() { return audit_; }
  bool has_keys() const { return ring_->has_keys(); }

  /// Returns the object that decides which peers an endpoint admits. The audit log gets a line for
  /// each peer. Null if the server has no keys.
  const zmtp::Authentication* for_commands() const { return has_keys() ? &commands_ : nullptr; }
  const zmtp::Authentication* for_results() const { return has_keys() ? &results_ : nullptr; }

  /// Returns Principal::may_subscribe(). The audit log gets a line for each refusal.
  bool may_subscribe(PrincipalId id, std::string_view topic);

  /// Returns why the principal may not send the request (rights.hpp); std::nullopt: it may. The
  /// audit log gets a line for each refusal. `connection` is Peer::connection.
  std::optional<protocol::Problem> refusal_of(PrincipalId id, const protocol::RequestBody& body,
                                              std::uint64_t connection);
  std::optional<protocol::Problem> refusal_of(PrincipalId id, const protocol::SocketBody& body,
                                              std::uint64_t connection);

  /// Reads the keys file again, and writes the outcome to the server's log and to the audit log.
  /// Returns the principals whose connections must be cut. If the file is bad, keeps the old keys
  /// and returns no principals.
  std::vector<PrincipalId> reload();

 private:
  template <class Body>
  std::optional<protocol::Problem> audited(PrincipalId id, const Body& body,
                                           std::uint64_t connection);
  zmtp::Authentication authentication_for(const char* endpoint);
  std::string name_of(PrincipalId id) const;

  std::unique_ptr<KeyRing> ring_;
  Audit audit_;
  zmtp::Authentication commands_;
  zmtp::Authentication results_;
};

}  // namespace starling::stream
