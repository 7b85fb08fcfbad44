// SPDX-License-Identifier: Apache-2.0
// The memory for requests that are being received or wait for their turns, of all connections
// together. A connection takes room for a whole frame before it receives the frame. If there is no
// room, the connection waits. CommandSocket owns the budget.
//
// An owner, a principal or an address, gets as much as is still free (Choudhury, Hahne: Dynamic
// queue length thresholds for shared-memory packet switches, 1998). So n owners that take all they
// can get leave a share of 1 / (n + 1) free for others.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "starling/stream/turns/request_owner.hpp"
#include "starling/stream/zmtp/link.hpp"

namespace starling::stream {

/// A principal or an address whose connections take room.
struct RoomOwner {
  struct Waiting {
    std::shared_ptr<zmtp::Link> link;
    std::size_t bytes = 0;
  };
  RequestOwner key;
  std::size_t used = 0;
  std::size_t links = 0;  ///< connections that have taken room and are open
  std::deque<Waiting> line{};
  std::list<RoomOwner*> place{};  ///< its place in ReceiveBudget::waiting_, while it does not wait
};

/// Any thread may call the functions.
class ReceiveBudget {
 public:
  using LinkPointer = std::shared_ptr<zmtp::Link>;

  /// `granted` is called for a connection that has waited and may go on. It must not call functions
  /// of the budget.
  ReceiveBudget(std::size_t bytes_max, std::function<void(const LinkPointer&)> granted)
      : bytes_max_(bytes_max), granted_(std::move(granted)) {}

  /// Takes room. If its owner gets too little room now, returns false: the connection waits until
  /// `granted` is called, and then calls take() again. With `may_overdraw`, there is always room.
  /// This is for short requests of connections without other requests, so that no other connection
  /// keeps them out.
  bool take(const LinkPointer& link, std::size_t bytes, bool may_overdraw);
  void give_back(const LinkPointer& link, std::size_t bytes);
  /// Takes the connection out of the line, and gives back the room that it was granted.
  void forget(const LinkPointer& link);

  bool has_waiting() const;

 private:
  RoomOwner& owner_of(zmtp::Link& link);
  bool fits(const RoomOwner& owner, std::size_t bytes) const;
  void return_room(RoomOwner& owner, std::size_t bytes);
  void stop_waiting(RoomOwner& owner);
  void grant();
  LinkPointer grant_one();

  const std::size_t bytes_max_;
  const std::function<void(const LinkPointer&)> granted_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  /// The owners that have connections or use room.
  std::unordered_map<RequestOwner, RoomOwner, RequestOwnerHash> owners_;
  std::list<RoomOwner*> waiting_;  ///< owners; the first one is looked at first
};

}  // namespace starling::stream
