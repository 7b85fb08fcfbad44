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
// Within this time, some session usually reads its last page, and its snapshot is released.
constexpr std::int64_t place_retry_us = 200'000;

}  // namespace

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

SnapshotStore::Reservation SnapshotStore::reserve(std::uint64_t session, std::int64_t now_us) {
  Account& account = accounts_[session];
  const auto refused = [](std::string_view limit, std::int64_t retry_after_us) {
    return Reservation{.granted = false, .retry_after_us = retry_after_us, .limit = limit};
  };
  // The generic cell rate algorithm: one snapshot in each interval_us, and up to `burst` at once.
  const std::int64_t early_us = account.due_us - now_us;
  const std::int64_t early_us_max = (limits_.burst - 1) * limits_.interval_us;
  if (early_us > early_us_max) return refused("session-snapshots-burst", early_us - early_us_max);
  // Drop the oldest: a client that begins a new snapshot, for example after a lost reply, does not
  // read its older snapshots any more.
  if (account.held >= limits_.session_snapshots_max) release_oldest(session);
  if (account.held >= limits_.session_snapshots_max)
    return refused("session-snapshots-max", place_retry_us);
  if (total_ >= limits_.snapshots_max) return refused("snapshots-max", place_retry_us);
  account.due_us = std::max(account.due_us, now_us) + limits_.interval_us;
  ++account.held;
  ++total_;
  return {.granted = true};
}

void SnapshotStore::pin(std::uint64_t session, std::uint64_t number,
                        std::shared_ptr<const Snapshot> snapshot, std::int64_t now_us,
                        zmtp::PrincipalId principal) {
  pinned_.emplace(number, Pinned{session, principal, now_us, std::move(snapshot)});
}

std::uint64_t SnapshotStore::bytes_of(zmtp::PrincipalId principal) const {
  std::uint64_t bytes = 0;
  for (const auto& [number, pinned] : pinned_)
    if (pinned.principal == principal) bytes += pinned.snapshot->bytes();
  return bytes;
}

void SnapshotStore::cancel(std::uint64_t session) {
  --accounts_[session].held;
  --total_;
}

std::shared_ptr<const Snapshot> SnapshotStore::find(std::uint64_t session, std::uint64_t number,
                                                    std::int64_t now_us) {
  const auto found = pinned_.find(number);
  if (found == pinned_.end() || found->second.session != session) return nullptr;
  found->second.used_us = now_us;
  return found->second.snapshot;
}

void SnapshotStore::release(std::uint64_t number) {
  const auto found = pinned_.find(number);
  cancel(found->second.session);
  pinned_.erase(found);
}

void SnapshotStore::release_oldest(std::uint64_t session) {
  auto oldest = pinned_.end();
  for (auto entry = pinned_.begin(); entry != pinned_.end(); ++entry) {
    if (entry->second.session != session) continue;
    if (oldest == pinned_.end() || entry->first < oldest->first) oldest = entry;
  }
  if (oldest != pinned_.end()) release(oldest->first);
}

void SnapshotStore::drop_session(std::uint64_t session) {
  std::erase_if(pinned_, [&](const auto& entry) {
    const bool is_its = entry.second.session == session;
    if (is_its) cancel(session);
    return is_its;
  });
}

void SnapshotStore::expire(std::int64_t now_us) {
  std::erase_if(pinned_, [&](const auto& entry) {
    const bool is_idle = now_us - entry.second.used_us > limits_.idle_us;
    if (is_idle) cancel(entry.second.session);
    return is_idle;
  });
  std::erase_if(accounts_, [&](const auto& entry) {
    return entry.second.held == 0 && entry.second.due_us <= now_us;
  });
}

}  // namespace starling::stream
