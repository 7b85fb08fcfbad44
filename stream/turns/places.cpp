// SPDX-License-Identifier: Apache-2.0
// Finds the connection that gives way: see places.hpp.
#include "starling/stream/turns/places.hpp"

#include <algorithm>
#include <limits>

namespace starling::stream {

PlacesOptions handshake_places(std::size_t handshakes_max) {
  constexpr std::size_t shares = 4;
  const std::uint64_t of_address = std::max<std::size_t>(handshakes_max / shares, 1);
  return {.places_max = handshakes_max,
          .quota = [of_address](zmtp::PrincipalId) { return of_address; },
          .are_brief = true};
}

Places::Taken Places::take(std::uint64_t number, const RequestOwner& holder, bool is_idle) {
  const std::lock_guard lock(mutex_);
  Taken taken;
  const bool may_have_more = is_within_quota(holder);
  if (!may_have_more || holders_.size() >= options_.places_max) {
    taken.gave_way = to_replace(holder);
    if (!taken.gave_way && may_have_more) return {Outcome::full, options_.places_max, {}};
    if (!taken.gave_way) return {Outcome::quota, quota_of(holder), {}};
  }
  holders_.emplace(number, holder);
  try {
    Held& held = held_[holder];
    held.all.insert(number);
    if (is_idle) held.idle.insert(number);
  } catch (...) {  // no memory
    remove(number);
    throw;
  }
  if (!taken.gave_way) return taken;
  ++gave_way_.count;
  gave_way_.last = holders_.at(*taken.gave_way);
  remove(*taken.gave_way);
  return taken;
}

bool Places::has_place_for(const RequestOwner& holder) const {
  const std::lock_guard lock(mutex_);
  return (is_within_quota(holder) && holders_.size() < options_.places_max) ||
         to_replace(holder).has_value();
}

/// Returns the connection that gives way to one of `newcomer`; std::nullopt: none does.
std::optional<std::uint64_t> Places::to_replace(const RequestOwner& newcomer) const {
  if (!is_within_quota(newcomer)) {
    const auto own = held_.find(newcomer);
    if (own == held_.end()) return std::nullopt;
    if (!own->second.idle.empty()) return *own->second.idle.begin();
    return options_.are_brief ? std::optional(*own->second.all.begin()) : std::nullopt;
  }
  const Held* most = nullptr;
  const Held* most_with_idle = nullptr;
  const std::size_t newcomer_count = count_of(newcomer);
  for (const auto& [holder, held] : held_) {
    if (most == nullptr || held.all.size() > most->all.size()) most = &held;
    const bool may_lose_one = holder == newcomer || held.all.size() > newcomer_count;
    if (may_lose_one && !held.idle.empty() &&
        (most_with_idle == nullptr || held.all.size() > most_with_idle->all.size()))
      most_with_idle = &held;
  }
  if (most_with_idle != nullptr) return *most_with_idle->idle.begin();
  if (most != nullptr && options_.are_brief) return *most->all.begin();
  if (most == nullptr || newcomer_count + 1 >= most->all.size()) return std::nullopt;
  return *most->all.rbegin();
}

void Places::set_idle(std::uint64_t number, bool is_idle) {
  const std::lock_guard lock(mutex_);
  const auto holder = holders_.find(number);
  if (holder == holders_.end()) return;
  Held& held = held_.at(holder->second);
  if (is_idle)
    held.idle.insert(number);
  else
    held.idle.erase(number);
}

bool Places::has(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return holders_.contains(number);
}

void Places::give_back(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  remove(number);
}

void Places::remove(std::uint64_t number) {
  const auto holder = holders_.find(number);
  if (holder == holders_.end()) return;
  const auto held = held_.find(holder->second);
  holders_.erase(holder);
  if (held == held_.end()) return;
  held->second.all.erase(number);
  held->second.idle.erase(number);
  if (held->second.all.empty()) held_.erase(held);
}

std::uint64_t Places::quota_of(const RequestOwner& holder) const {
  const auto quota = options_.quota ? options_.quota(principal_of(holder)) : std::nullopt;
  return quota.value_or(std::numeric_limits<std::uint64_t>::max());
}

bool Places::is_within_quota(const RequestOwner& holder) const {
  return count_of(holder) < quota_of(holder);
}

std::size_t Places::count_of(const RequestOwner& holder) const {
  const auto found = held_.find(holder);
  return found == held_.end() ? 0 : found->second.all.size();
}

std::size_t Places::count() const {
  const std::lock_guard lock(mutex_);
  return holders_.size();
}

Places::GaveWay Places::gave_way() const {
  const std::lock_guard lock(mutex_);
  return gave_way_;
}

}  // namespace starling::stream
