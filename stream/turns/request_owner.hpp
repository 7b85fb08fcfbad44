// SPDX-License-Identifier: Apache-2.0
// Whom a request is counted for. Turns (FairQueue) and room (ReceiveBudget) are divided by payer,
// snapshots (SnapshotStore) by owner.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "starling/stream/turns/peer_address.hpp"

namespace starling::stream {

namespace zmtp {
enum class PrincipalId : std::uint32_t;  // zmtp/authentication.hpp, which stands above this room
}

struct RequestOwner {
  enum class Kind : std::uint8_t { connection, in_process, principal, address };
  Kind kind = Kind::connection;
  std::uint64_t number = 0;  ///< connection or principal
  PeerAddress address{};     ///< only if `kind` is `address`
  auto operator<=>(const RequestOwner&) const = default;
};

/// Returns the principal as an owner or, if it is anonymous, the address.
inline RequestOwner owner_of(zmtp::PrincipalId principal, const PeerAddress& address) {
  using Kind = RequestOwner::Kind;
  if (principal != zmtp::PrincipalId{})
    return {.kind = Kind::principal, .number = static_cast<std::uint64_t>(principal)};
  return {.kind = Kind::address, .address = address};
}

/// Returns the owner's principal; 0: anonymous.
inline zmtp::PrincipalId principal_of(const RequestOwner& owner) {
  return owner.kind == RequestOwner::Kind::principal ? static_cast<zmtp::PrincipalId>(owner.number)
                                                     : zmtp::PrincipalId{};
}

/// Who pays for a request with its turns: first the principal, or without keys the address, and of
/// what it gets, its connections.
struct Payer {
  RequestOwner owner;
  std::uint64_t connection = 0;  ///< 0: all requests over HTTP, but those of WebSockets
  auto operator<=>(const Payer&) const = default;
};

struct RequestOwnerHash {
  std::size_t operator()(const RequestOwner& owner) const {
    const std::string_view address(reinterpret_cast<const char*>(owner.address.bytes.data()),
                                   owner.address.bytes.size());
    const std::size_t of_address =
        owner.kind == RequestOwner::Kind::address ? std::hash<std::string_view>()(address) : 0;
    return std::hash<std::uint64_t>()(owner.number * 4 + static_cast<std::uint64_t>(owner.kind)) ^
           of_address;
  }
};

}  // namespace starling::stream
