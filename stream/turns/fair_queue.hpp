// SPDX-License-Identifier: Apache-2.0
// Items that wait for a turn, and whose turn it is. Each payer has a queue of its own. The owner
// that has used the least is next, and of its connections the one that has used the least. So a
// client that sends more waits longer, and no other client does. RequestIntake has the requests
// that wait for the loop in a FairQueue, and FairJobs what waits for an engine or a reader.
//
// This is start-time fair queueing (Goyal, Vin, Cheng: Start-time fair queueing, 1996): a new owner
// begins at the virtual time, the use of the owner that was served last. One that comes back has
// saved up what it used less than its share, but at most saved_us_max. So an owner that uses little
// seldom waits for those that use all they get, which wait for each other. In return, n owners that
// come back together may use n times saved_us_max before one that uses its whole share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "starling/stream/turns/request_owner.hpp"

namespace starling::stream {

/// How long one turn of a connection is: it ends after `items` items, or when they have cost `us`.
struct TurnLength {
  std::size_t items = 1;
  std::int64_t us = 0;
};

/// Only the loop calls the functions.
template <class Item>
class FairQueue {
 public:
  explicit FairQueue(const TurnLength& turn = {}) : turn_(turn) {}

  /// Adds an item after all other items of the payer. If memory runs out, throws std::bad_alloc and
  /// adds nothing.
  void push(const Payer& payer, Item item) {
    Group& group = groups_.try_emplace(payer.owner, payer.owner, virtual_us_).first->second;
    Member& member = group.members.try_emplace(payer.connection, payer.connection, group.virtual_us)
                         .first->second;
    ready_.reserve_more();
    group.ready.reserve_more();
    blocked_.reserve(blocked_.size() + 1);
    member.items.push_back(std::move(item));
    if (member.items.size() == 1)
      member.used_us = std::max(member.used_us, group.virtual_us - saved_us_max);
    if (group.item_count == 0) group.used_us = std::max(group.used_us, virtual_us_ - saved_us_max);
    ++group.item_count;
    ++size_;
    make_ready(group, member);
  }

  /// Returns whether an item can have its turn.
  bool is_ready() const { return !ready_.empty(); }
  std::size_t size() const { return size_; }
  /// Returns the number of the owner's items that wait.
  std::size_t size_of(const RequestOwner& owner) const {
    const auto found = groups_.find(owner);
    return found == groups_.end() ? 0 : found->second.item_count;
  }

  /// Gives the next connection its turn: calls `serve(payer, item)` for its items, one after the
  /// other, which returns what the item has cost in microseconds. If it returns std::nullopt, the
  /// item stays the first of its payer, and its payer has no turn until release(). `serve` may call
  /// push() and charge(). If it throws, the item is gone. Call it only if is_ready().
  template <class Serve>
  void serve_next(const Serve& serve) {
    Group& group = ready_.pop();
    Member& member = group.ready.pop();
    const Payer payer{group.owner, member.connection};
    std::size_t items = 0;
    std::int64_t us = 0;
    const auto end_turn = [&] {
      group.used_us += us;
      member.used_us += us;
      member.is_ready = group.is_ready = false;
      if (member.can_be_served()) group.ready.push(member);
      if (!group.ready.empty()) ready_.push(group);
    };
    try {
      do us += serve_first(group, member, payer, serve);
      while (member.can_be_served() && ++items < turn_.items && us < turn_.us);
    } catch (...) {
      end_turn();
      throw;
    }
    end_turn();
    forget_idle();
  }

  /// Lets the payers go on whose items `serve` could not serve.
  void release() {
    for (const Payer& payer : std::exchange(blocked_, {})) {
      const auto found = groups_.find(payer.owner);
      if (found == groups_.end()) continue;  // its items were taken, and it is forgotten
      Group& group = found->second;
      const auto blocked = group.members.find(payer.connection);
      if (blocked == group.members.end()) continue;
      Member& member = blocked->second;
      member.is_blocked = false;
      member.used_us = std::max(member.used_us, group.virtual_us - blocked_us_max);
      group.used_us = std::max(group.used_us, virtual_us_ - blocked_us_max);
      make_ready(group, member);
    }
  }

  /// Charges a payer for a cost that is known only after the turn. A negative cost gives back what
  /// was charged too much.
  void charge(const Payer& payer, std::int64_t cost_us) {
    const auto group = groups_.find(payer.owner);
    if (group == groups_.end()) return;
    group->second.used_us += cost_us;
    const auto member = group->second.members.find(payer.connection);
    if (member != group->second.members.end()) member->second.used_us += cost_us;
    if (cost_us >= 0) return;
    ready_.sort();
    group->second.ready.sort();
  }

  /// Takes the last item of the largest owner. `size_of_owner` returns the size of an owner, from
  /// the owner and the number of its items. Takes nothing if no size is more than `more_than`.
  template <class SizeOfOwner>
  std::optional<Item> take_last_of_largest(const SizeOfOwner& size_of_owner,
                                           std::size_t more_than) {
    Group* largest = nullptr;
    std::size_t most = more_than;
    for (auto& [owner, group] : groups_) {
      if (group.item_count == 0) continue;
      const std::size_t size = size_of_owner(owner, group.item_count);
      if (size <= most) continue;
      most = size;
      largest = &group;
    }
    if (largest == nullptr) return std::nullopt;
    return take_last(*largest);
  }

 private:
  /// What an owner or connection has used, and whether it is among those that are ready.
  struct Account {
    std::int64_t used_us = 0;
    bool is_ready = false;
  };

  /// Accounts by what they had used when they were added. As use only grows, an account whose use
  /// has grown since is moved back when it comes first.
  template <class Kind>
  class Ready {
   public:
    bool empty() const { return heap_.empty(); }
    /// Makes room for two more accounts: one that is added, and one that has its turn and comes
    /// back.
    void reserve_more() {
      if (heap_.size() + 2 > heap_.capacity()) heap_.reserve(2 * heap_.size() + 8);
    }
    void push(Kind& account) {
      heap_.push_back({account.used_us, count_++, &account});
      account.is_ready = true;
      std::push_heap(heap_.begin(), heap_.end());
    }
    Kind& pop() {
      for (;;) {
        std::pop_heap(heap_.begin(), heap_.end());
        Entry& last = heap_.back();
        if (last.used_us >= last.account->used_us) break;
        last.used_us = last.account->used_us;
        std::push_heap(heap_.begin(), heap_.end());
      }
      Kind& account = *heap_.back().account;
      heap_.pop_back();
      return account;
    }
    void remove(Kind& account) {
      std::erase_if(heap_, [&](const Entry& each) { return each.account == &account; });
      std::make_heap(heap_.begin(), heap_.end());
      account.is_ready = false;
    }
    void sort() {
      for (Entry& each : heap_) each.used_us = each.account->used_us;
      std::make_heap(heap_.begin(), heap_.end());
    }

   private:
    struct Entry {
      std::int64_t used_us = 0;
      std::uint64_t number = 0;  ///< decides if two have used the same
      Kind* account = nullptr;
      bool operator<(const Entry& other) const {  // the last in this order is next
        return std::pair(used_us, number) > std::pair(other.used_us, other.number);
      }
    };
    std::vector<Entry> heap_;
    std::uint64_t count_ = 0;
  };

  struct Member : Account {
    Member(std::uint64_t the_connection, std::int64_t begin_us)
        : Account{.used_us = begin_us}, connection(the_connection) {}
    const std::uint64_t connection;
    std::deque<Item> items;
    bool is_blocked = false;
    bool can_be_served() const { return !items.empty() && !is_blocked; }
  };
  struct Group : Account {
    Group(const RequestOwner& the_owner, std::int64_t begin_us)
        : Account{.used_us = begin_us}, owner(the_owner) {}
    const RequestOwner owner;
    std::unordered_map<std::uint64_t, Member> members;
    Ready<Member> ready;
    std::size_t item_count = 0;
    std::int64_t virtual_us = 0;  ///< used_us of the member that was served last
  };

  /// Returns what serving the member's first item has cost.
  template <class Serve>
  std::int64_t serve_first(Group& group, Member& member, const Payer& payer, const Serve& serve) {
    Item item = std::move(member.items.front());
    member.items.pop_front();
    --group.item_count;
    --size_;
    if (const std::optional<std::int64_t> cost_us = serve(payer, item)) {
      virtual_us_ = std::max(virtual_us_, group.used_us);
      group.virtual_us = std::max(group.virtual_us, member.used_us);
      return *cost_us;
    }
    member.items.push_front(std::move(item));
    ++group.item_count;
    ++size_;
    member.is_blocked = true;
    blocked_.push_back(payer);
    return 0;
  }

  /// Sees to it that the member has its turn if it can be served.
  void make_ready(Group& group, Member& member) {
    if (!member.is_ready && member.can_be_served()) group.ready.push(member);
    if (!group.is_ready && !group.ready.empty()) ready_.push(group);
  }

  Item take_last(Group& group) {
    const auto largest = std::ranges::max_element(
        group.members, {}, [](const auto& each) { return each.second.items.size(); });
    Member& member = largest->second;
    Item last = std::move(member.items.back());
    member.items.pop_back();
    --group.item_count;
    --size_;
    if (!member.items.empty() || !member.is_ready) return last;
    group.ready.remove(member);
    if (group.ready.empty()) ready_.remove(group);
    return last;
  }

  /// From time to time, forgets the accounts without items that have saved up as much as they may.
  /// They begin anew when they come back.
  void forget_idle() {
    if (++turns_ < turns_between_sweeps) return;
    turns_ = 0;
    if (size_ == 0 && blocked_.empty()) return groups_.clear();
    std::erase_if(groups_, [this](const auto& each) {
      return each.second.item_count == 0 && each.second.used_us <= virtual_us_ - saved_us_max;
    });
    for (auto& [owner, group] : groups_)
      std::erase_if(group.members, [&group = group](const auto& each) {
        return each.second.items.empty() && each.second.used_us <= group.virtual_us - saved_us_max;
      });
  }

  // Several times what the longest turn costs, so that an owner that uses little is next although
  // others have just begun. With 10 ms, the 99th percentile of questions beside 32 addresses that
  // send all they can was 1.8 times that with 30 ms.
  static constexpr std::int64_t saved_us_max = 30'000;
  // The same for an owner that could not be served meanwhile.
  static constexpr std::int64_t blocked_us_max = 1'000'000;
  static constexpr std::size_t turns_between_sweeps = 16384;

  const TurnLength turn_;
  std::unordered_map<RequestOwner, Group, RequestOwnerHash> groups_;
  Ready<Group> ready_;
  std::vector<Payer> blocked_;
  std::size_t size_ = 0;
  std::int64_t virtual_us_ = 0;  ///< used_us of the owner that was served last
  std::size_t turns_ = 0;
};

}  // namespace starling::stream
