// SPDX-License-Identifier: Apache-2.0
// The sender of a request, the request's bytes, and the room that they take. The commands endpoint,
// HTTP and WebSockets pass both to ServerCore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "starling/stream/turns/peer_address.hpp"
#include "starling/stream/turns/request_owner.hpp"
#include "starling/stream/zmtp/authentication.hpp"
#include "starling/stream/zmtp/link.hpp"

namespace starling::stream {

/// The peer that sent a request and gets the reply.
struct Peer {
  /// The number of the peer's connection. The server counts connections, so no peer can choose its
  /// number.
  std::uint64_t connection = 0;
  bool has_delimiter = false;  ///< an empty frame precedes each body, as with a REQ socket
  bool in_process = false;     ///< the server's own HTTP endpoint, not a client of the commands
  zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
  PeerAddress address{};
  /// Whether the limits of a connection count. Over HTTP, only a WebSocket is a connection; other
  /// requests share the server's own sessions.
  bool has_connection() const { return !in_process || connection != 0; }
  bool operator==(const Peer&) const = default;
};

/// Returns the owner whose share of the snapshots a request uses.
inline RequestOwner snapshot_owner_of(const Peer& peer) {
  using Kind = RequestOwner::Kind;
  if (peer.principal != zmtp::PrincipalId::anonymous) return owner_of(peer.principal, {});
  return {peer.in_process ? Kind::in_process : Kind::connection, peer.connection};
}

/// Returns who pays for a request.
inline Payer payer_of(const Peer& peer) {
  return {owner_of(peer.principal, peer.address), peer.connection};
}

/// A received frame. `owner` owns the memory of `bytes`.
struct ReceivedBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

/// The room of a request that waits for its turn. Gives it back at its end, or earlier.
class ReceivedRoom {
 public:
  /// Counts the room of the connections' requests. Must outlive the rooms.
  class Keeper {
   public:
    virtual void take_back(const std::shared_ptr<zmtp::Link>& link, std::size_t bytes) = 0;

   protected:
    ~Keeper() = default;
  };

  ReceivedRoom() = default;
  ReceivedRoom(Keeper& keeper, std::shared_ptr<zmtp::Link> link, std::size_t bytes)
      : keeper_(&keeper), link_(std::move(link)), bytes_(bytes) {}
  ReceivedRoom(ReceivedRoom&& other) noexcept { *this = std::move(other); }
  ReceivedRoom& operator=(ReceivedRoom&& other) noexcept {
    std::swap(keeper_, other.keeper_);
    std::swap(link_, other.link_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ReceivedRoom() { give_back(); }

  /// Lets the connection rest until this time of the steady clock: no more of it is read.
  void rest_until(std::int64_t until_us) {
    if (link_ != nullptr) link_->rests_until_us = until_us;
  }

  void give_back() {
    if (link_ != nullptr) keeper_->take_back(std::exchange(link_, nullptr), bytes_);
  }

 private:
  Keeper* keeper_ = nullptr;
  std::shared_ptr<zmtp::Link> link_;
  std::size_t bytes_ = 0;
};

}  // namespace starling::stream
