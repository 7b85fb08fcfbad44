// SPDX-License-Identifier: Apache-2.0
// What the sockets of a server ask about keys, and what a reload of the keys file tells. Access
// joins the ring of keys and the audit log. Server owns it.
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
  /// `keys_path` is the path of the keys file; empty: the server has no keys. Throws as KeyRing
  /// does.
  Access(const std::string& keys_path, AuditOptions audit);
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  KeyRing& ring() { return *ring_; }
  const KeyRing& ring() const { return *ring_; }
  Audit& audit() { return audit_; }
  bool has_keys() const { return ring_->has_keys(); }

  /// Decides which peers the endpoints admit; the audit log gets a line for each peer. Null without
  /// keys.
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

  /// Reads the keys file again, and tells the log and the audit log. Returns the principals whose
  /// connections must be cut. If the file is bad, the old keys stay, and no connection is cut.
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
