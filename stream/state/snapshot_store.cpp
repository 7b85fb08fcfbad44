// SPDX-License-Identifier: Apache-2.0
// Divides a copy of lists into pages, and decides whether a session may begin a snapshot now: see
// snapshot_store.hpp.
#include "starling/stream/state/snapshot_store.hpp"

#include <algorithm>
#include <utility>

#include "starling/knn/engine/tick_result.hpp"
#include "starling/protocol/wire/list_chunk.hpp"

namespace starling::stream {

namespace {

// The time after which a client should try again if the number of snapshots has reached a limit.
// Within this time, a session usually reads the last page of its snapshot, which is then released.
constexpr std::int64_t place_retry_us = 200'000;

SnapshotStore::Reservation refused(std::string_view limit, std::int64_t retry_after_us) {
  return {.granted = false, .retry_after_us = retry_after_us, .limit = limit};
}

}  // namespace

std::uint64_t snapshot_bytes(std::uint64_t lists, std::uint64_t neighbors, bool has_states) {
  // There is at most one page for each list, and the array of page starts may be half empty.
  constexpr std::uint64_t list_bytes =
      sizeof(Answers::List) + sizeof(QueryReport) + 2 * sizeof(std::size_t);
  const std::uint64_t neighbor_bytes = sizeof(Neighbor) + (has_states ? sizeof(NeighborState) : 0);
  return lists * list_bytes + neighbors * neighbor_bytes + 2 * sizeof(std::size_t);
}

Snapshot::Snapshot(std::string stream_name, ReportWith report_with, std::uint64_t of_sequence,
                   Answers copied, std::vector<QuerySlot> queries, bool is_by_id,
                   std::size_t page_bytes_max)
    : stream(std::move(stream_name)),
      with(report_with),
      sequence(of_sequence),
      answers(std::move(copied)) {
  std::ranges::sort(queries, {}, &QuerySlot::slot);
  const auto id_of = [&](Slot slot) {
    return std::ranges::lower_bound(queries, slot, {}, &QuerySlot::slot)->id;
  };
  // The engine's arrays may have room for twice their elements.
  answers.lists.shrink_to_fit();
  answers.neighbors.shrink_to_fit();
  answers.states.shrink_to_fit();
  reports.reserve(answers.lists.size());
  for (const Answers::List& list : answers.lists) {
    const std::span neighbors = std::span(answers.neighbors).subspan(list.first, list.count);
    const bool has_states = list.first_state != ReportedList::no_state;
    const std::span states = has_states
                                 ? std::span(answers.states).subspan(list.first_state, list.count)
                                 : std::span<NeighborState>();
    reports.push_back({.query = id_of(static_cast<Slot>(list.query)),
                       .has_subject = list.has_subject,
                       .subject = list.subject,
                       .event = ListEvent::updated,
                       .neighbors = neighbors,
                       .states = states,
                       .vote = list.prediction.vote,
                       .mean = list.prediction.mean});
  }
  if (is_by_id) std::ranges::stable_sort(reports, {}, &QueryReport::query);
  page_starts.push_back(0);
  do {
    const std::span rest = std::span(reports).subspan(page_starts.back());
    page_starts.push_back(page_starts.back() +
                          protocol::lists_that_fit(rest, with, page_bytes_max));
  } while (page_starts.back() < reports.size());
}

std::span<const QueryReport> Snapshot::page(std::size_t index) const {
  return std::span(reports).subspan(page_starts[index],
                                    page_starts[index + 1] - page_starts[index]);
}

std::size_t Snapshot::bytes() const {
  const auto of = [](const auto& array) { return array.capacity() * sizeof(array[0]); };
  return of(answers.lists) + of(answers.neighbors) + of(answers.states) + of(reports) +
         of(page_starts);
}

std::size_t SnapshotStore::most_held() const {
  std::size_t most = 0;
  for (const auto& [session, account] : accounts_) most = std::max(most, account.held);
  return most;
}

SnapshotStore::Reservation SnapshotStore::reserve(const Place& place, std::int64_t now_us) {
  const std::uint64_t session = place.session;
  Account& account = accounts_[session];
  // The generic cell rate algorithm: one snapshot in each interval_us, and up to `burst` at once.
  const std::int64_t early_us = account.due_us - now_us;
  const std::int64_t early_us_max = (limits_.burst - 1) * limits_.interval_us;
  if (early_us > early_us_max) return refused("session-snapshots-burst", early_us - early_us_max);
  // Drop the oldest: a client that begins a new snapshot, for example after a lost reply, does not
  // read its older snapshots any more.
  if (account.held >= limits_.session_snapshots_max)
    release_oldest([&](const Place& other) { return other.session == session; });
  if (account.held >= limits_.session_snapshots_max)
    return refused("session-snapshots-max", place_retry_us);
  const auto count = [&] {
    const auto found = shares_.find(place.owner);
    return found == shares_.end() ? 0 : found->second.count;
  };
  if (count() >= limits_.owner_snapshots_max) release_oldest_of(place.owner);
  if (count() >= limits_.owner_snapshots_max)
    return refused("connection-snapshots-max", place_retry_us);
  if (total_ >= limits_.snapshots_max) return refused("snapshots-max", place_retry_us);
  account.due_us = std::max(account.due_us, now_us) + limits_.interval_us;
  ++account.held;
  ++total_;
  ++shares_[place.owner].count;
  return {.granted = true};
}

SnapshotStore::Reservation SnapshotStore::take_bytes(Place& place, std::uint64_t bytes) {
  Share& share = shares_.at(place.owner);
  // `fixed` is the number of bytes that cannot be freed now: other owners' snapshots, and snapshots
  // that are being copied.
  const auto check = [&](std::string_view limit, std::uint64_t bytes_max, std::uint64_t fixed) {
    if (bytes > bytes_max) return refused(limit, 0);
    if (fixed > bytes_max - bytes) return refused(limit, place_retry_us);
    return Reservation{.granted = true};
  };
  if (auto own = check("connection-snapshot-bytes-max", limits_.owner_bytes_max,
                       share.bytes - share.pinned_bytes);
      !own.granted)
    return own;
  if (auto all = check("snapshot-bytes-max", limits_.bytes_max, bytes_ - share.pinned_bytes);
      !all.granted)
    return all;
  const auto is_beyond = [&] {
    return share.bytes + bytes > limits_.owner_bytes_max || bytes_ + bytes > limits_.bytes_max;
  };
  while (is_beyond() && release_oldest_of(place.owner)) continue;
  place.bytes = bytes;
  share.bytes += bytes;
  bytes_ += bytes;
  return {.granted = true};
}

void SnapshotStore::pin(const Place& place, std::uint64_t number,
                        std::shared_ptr<const Snapshot> snapshot, std::int64_t now_us,
                        zmtp::PrincipalId principal) {
  Pinned pinned{place, principal, awake_.read(now_us), std::move(snapshot)};
  pinned.place.bytes = pinned.snapshot->bytes();
  Share& share = shares_.at(place.owner);
  share.bytes += pinned.place.bytes - place.bytes;
  share.pinned_bytes += pinned.place.bytes;
  bytes_ += pinned.place.bytes - place.bytes;
  pinned_.emplace(number, std::move(pinned));
}

std::uint64_t SnapshotStore::bytes_of(zmtp::PrincipalId principal) const {
  std::uint64_t bytes = 0;
  for (const auto& [number, pinned] : pinned_)
    if (pinned.principal == principal) bytes += pinned.place.bytes;
  return bytes;
}

void SnapshotStore::cancel(const Place& place) {
  --accounts_[place.session].held;
  --total_;
  bytes_ -= place.bytes;
  const auto share = shares_.find(place.owner);
  share->second.bytes -= place.bytes;
  if (--share->second.count == 0) shares_.erase(share);
}

void SnapshotStore::cancel_pinned(const Place& place) {
  shares_.at(place.owner).pinned_bytes -= place.bytes;
  cancel(place);
}

std::shared_ptr<const Snapshot> SnapshotStore::find(std::uint64_t session, std::uint64_t number,
                                                    std::int64_t now_us) {
  const auto found = pinned_.find(number);
  if (found == pinned_.end() || found->second.place.session != session) return nullptr;
  found->second.used_us = awake_.read(now_us);
  return found->second.snapshot;
}

void SnapshotStore::release(std::uint64_t number) {
  const auto found = pinned_.find(number);
  cancel_pinned(found->second.place);
  pinned_.erase(found);
}

template <class Belongs>
bool SnapshotStore::release_oldest(Belongs belongs) {
  auto oldest = pinned_.end();
  for (auto entry = pinned_.begin(); entry != pinned_.end(); ++entry) {
    if (!belongs(entry->second.place)) continue;
    if (oldest == pinned_.end() || entry->first < oldest->first) oldest = entry;
  }
  if (oldest == pinned_.end()) return false;
  release(oldest->first);
  return true;
}

bool SnapshotStore::release_oldest_of(const RequestOwner& owner) {
  return release_oldest([&](const Place& place) { return place.owner == owner; });
}

void SnapshotStore::drop_session(std::uint64_t session) {
  std::erase_if(pinned_, [&](const auto& entry) {
    const bool is_its = entry.second.place.session == session;
    if (is_its) cancel_pinned(entry.second.place);
    return is_its;
  });
}

void SnapshotStore::expire(std::int64_t now_us) {
  const std::int64_t awake_us = awake_.read(now_us);
  std::erase_if(pinned_, [&](const auto& entry) {
    const bool is_idle = awake_us - entry.second.used_us > limits_.idle_us;
    if (is_idle) cancel_pinned(entry.second.place);
    return is_idle;
  });
  std::erase_if(accounts_, [&](const auto& entry) {
    return entry.second.held == 0 && entry.second.due_us <= now_us;
  });
}

}  // namespace starling::stream
