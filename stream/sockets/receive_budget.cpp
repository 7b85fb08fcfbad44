// SPDX-License-Identifier: Apache-2.0
// Grants room to the owners that wait by turns, and to the connections of one in their order: see
// receive_budget.hpp.
#include "starling/stream/sockets/receive_budget.hpp"

#include <algorithm>
#include <utility>

namespace starling::stream {

namespace {

/// How many owners grant_one() looks at. The others have their turns when more room is given back.
constexpr int owners_per_look = 8;

}  // namespace

/// Looks the owner up once for each connection.
RoomOwner& ReceiveBudget::owner_of(zmtp::Link& link) {
  if (link.room_owner != nullptr) return *link.room_owner;
  const RequestOwner key = zmtp::owner_of(link);
  const auto [found, is_new] = owners_.try_emplace(key);
  RoomOwner& owner = found->second;
  if (is_new) {
    owner.key = key;
    owner.place.push_back(&owner);
  }
  ++owner.links;
  link.room_owner = &owner;
  return owner;
}

bool ReceiveBudget::fits(const RoomOwner& owner, std::size_t bytes) const {
  if (used_ == 0) return true;
  if (used_ + bytes > bytes_max_) return false;
  return owner.used == 0 || owner.used + bytes <= bytes_max_ - used_;
}

bool ReceiveBudget::take(const LinkPointer& link, std::size_t bytes, bool may_overdraw) {
  const std::lock_guard lock(mutex_);
  if (link->granted > 0) {  // granted for this frame: a connection waits for one at a time
    link->granted = 0;
    return true;
  }
  if (link->is_waiting) return false;
  RoomOwner& owner = owner_of(*link);
  if (may_overdraw || (owner.line.empty() && fits(owner, bytes))) {
    used_ += bytes;
    owner.used += bytes;
    return true;
  }
  owner.line.push_back({link, bytes});
  link->is_waiting = true;
  waiting_.splice(waiting_.end(), owner.place);
  return false;
}

void ReceiveBudget::give_back(const LinkPointer& link, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    return_room(owner_of(*link), bytes);
    if (waiting_.empty()) return;
  }
  grant();
}

void ReceiveBudget::return_room(RoomOwner& owner, std::size_t bytes) {
  used_ -= bytes;
  owner.used -= bytes;
  if (owner.used == 0 && owner.links == 0) owners_.erase(RequestOwner(owner.key));
}

void ReceiveBudget::forget(const LinkPointer& link) {
  {
    const std::lock_guard lock(mutex_);
    if (link->room_owner == nullptr) return;
    RoomOwner& owner = owner_of(*link);
    if (std::exchange(link->is_waiting, false)) {
      std::erase_if(owner.line, [&](const RoomOwner::Waiting& each) { return each.link == link; });
      if (owner.line.empty()) stop_waiting(owner);
    }
    --owner.links;
    return_room(owner, std::exchange(link->granted, 0));
  }
  grant();
}

void ReceiveBudget::stop_waiting(RoomOwner& owner) {
  const auto place = std::ranges::find(waiting_, &owner);
  owner.place.splice(owner.place.end(), waiting_, place);
}

bool ReceiveBudget::has_waiting() const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

void ReceiveBudget::grant() {
  while (const LinkPointer link = grant_one()) granted_(link);
}

/// Grants room to one connection, and returns it; nullptr: none that it has looked at fits. It
/// allocates no memory.
ReceiveBudget::LinkPointer ReceiveBudget::grant_one() {
  const std::lock_guard lock(mutex_);
  for (int count = 0; count < owners_per_look && !waiting_.empty(); ++count) {
    RoomOwner& owner = *waiting_.front();
    waiting_.splice(waiting_.end(), waiting_, waiting_.begin());
    if (!fits(owner, owner.line.front().bytes)) continue;
    const RoomOwner::Waiting first = std::move(owner.line.front());
    owner.line.pop_front();
    used_ += first.bytes;
    owner.used += first.bytes;
    first.link->granted = first.bytes;
    first.link->is_waiting = false;
    if (owner.line.empty()) stop_waiting(owner);
    return first.link;
  }
  return nullptr;
}

}  // namespace starling::stream
