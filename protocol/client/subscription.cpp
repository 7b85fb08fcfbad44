// SPDX-License-Identifier: Apache-2.0
// The algorithm of "How to subscribe" in protocol/README.md: see subscription.hpp.
#include "starling/protocol/client/subscription.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace starling::protocol {
namespace {

constexpr std::size_t histories_remembered_max = 16;
constexpr std::uint64_t overdue_reports_max = 2;

// After this number of snapshots in a row that the waiting ticks do not follow, the server is at
// fault. A lost tick needs one or two snapshots.
constexpr int unfollowed_snapshots_max = 8;

std::size_t half_of_memory() {
  const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE)) / 2;
}

std::string too_large(std::size_t bytes_max) {
  return "sends lists that take more than " + std::to_string(bytes_max) +
         " bytes of memory (lists_bytes_max). Follow fewer queries or subjects.";
}

}  // namespace

ReceivedTick receive_tick(std::vector<AlignedBytes> frames, std::shared_ptr<const void> owner) {
  ReceivedTick received;
  received.frames = std::move(frames);
  received.owner = std::move(owner);
  received.tick = decode_tick(received.frames);
  for (const AlignedBytes& frame : received.frames) received.bytes += frame.bytes().size();
  return received;
}

void apply_lists(const DecodedTick& tick, const std::function<bool(const ListKey&)>& is_wanted,
                 ListStore& lists) {
  const auto for_each = [&](ListEvent event, const auto& take) {
    for (const ListChunk& chunk : tick.chunks)
      for (std::size_t list = 0; list < chunk.list_count(); ++list)
        if (chunk.event_of(list) == event && is_wanted(key_of(chunk, list))) take(chunk, list);
  };
  if (tick.header.removal_count > 0) {
    std::vector<ListKey> removed;
    for_each(ListEvent::removed, [&](const ListChunk& chunk, std::size_t list) {
      removed.push_back(key_of(chunk, list));
    });
    remove_lists(lists, removed);
  }
  for_each(ListEvent::updated, [&](const ListChunk& chunk, std::size_t list) {
    lists.insert_or_assign(key_of(chunk, list), list_of(chunk, list));
  });
}

SubscriptionState::SubscriptionState(SubscriptionOptions options, SubscriptionHandlers handlers)
    : options_(std::move(options)), handlers_(std::move(handlers)) {
  std::ranges::sort(options_.query_ids);
  std::ranges::sort(options_.subject_ids);
  if (options_.lists_bytes_max == 0) options_.lists_bytes_max = half_of_memory();
}

void SubscriptionState::on_tick(ReceivedTick received) {
  has_heard_ = true;
  is_silent_ = false;
  if (received.tick.problem) {
    ++counters_.ticks_malformed;  // The next tick's number shows that this one is missing.
    fault_ = "sent a tick that is damaged: " + received.tick.problem->sentence;
    return;
  }
  const TickHeader& header = received.tick.header;
  if (!enter(header)) return;
  if (received_sequence_ && header.sequence <= *received_sequence_) return;
  note_received(header.sequence);
  if (held_at_ && held_at_->epoch == header.epoch && header.sequence <= held_at_->sequence) return;
  if (is_live() && header.sequence == held_at_->sequence + 1) {
    apply(received.tick);
    drop_lists_if_too_large();
    return;
  }
  needs_snapshot_ = true;
  buffer(std::move(received));
}

void SubscriptionState::on_endless_tick() {
  ++counters_.ticks_malformed;
  needs_snapshot_ = true;
  is_fault_kept_ = true;
  fault_ = "sends a tick that never ends, or has more than " +
           std::to_string(options_.buffer_bytes_max) + " bytes (buffer_bytes_max).";
}

/// Makes the tick's run the current run, and begins a new history if the run belongs to another
/// history. Returns false if the tick is a late one of the run before. Also returns false if a
/// whole run was missed: then only a snapshot shows to which history the tick belongs.
bool SubscriptionState::enter(const TickHeader& header) {
  const RunPlace& at = header.at;
  if (epoch_ != header.epoch) {
    begin_history(header.epoch, at);
    return true;
  }
  if (at.run.id != 0 && at.run.id == at_.run_before) return false;
  const bool is_next =
      at_.run.id == 0 || at.run.id == 0 || at.run.id == at_.run.id || at.run_before == at_.run.id;
  if (!is_next) {
    needs_snapshot_ = true;
    incoming_.reset();
    drop_buffered();
    return false;
  }
  if (is_same_history(at_, at))
    go_on(header.epoch, at);
  else
    begin_history(header.epoch, at);
  return true;
}

void SubscriptionState::enter(const SnapshotHead& head) {
  RunPlace at{.place = head.place};
  if (!head.runs.empty()) at.run = head.runs.front();
  if (head.runs.size() > 1) at.run_before = head.runs[1].id;
  if (epoch_ == head.epoch && is_in_log(at_.run.id, at_.place, head.runs))
    go_on(head.epoch, at);
  else
    begin_history(head.epoch, at);
}

void SubscriptionState::go_on(std::uint64_t epoch, const RunPlace& at) {
  if (at.run.id == 0) return;
  if (at_.run.id != at.run.id) remember(epoch, at.run.id);
  at_ = {at.run, at.run_before, std::max(at_.place, at.place)};
}

/// Adds a history to histories_seen_. Returns false if it was there already.
bool SubscriptionState::remember(std::uint64_t epoch, std::uint64_t run) {
  const std::pair history{epoch, run};
  if (std::ranges::find(histories_seen_, history) != histories_seen_.end()) return false;
  histories_seen_.push_back(history);
  if (histories_seen_.size() > histories_remembered_max) histories_seen_.pop_front();
  return true;
}

/// Ticks and pages arrive on two sockets, so a tick of the old server may arrive after a page of
/// the new server. Neither epochs nor runs show which of two histories is newer. Therefore a
/// snapshot is fetched after each change, and the history of that snapshot is the right one. Each
/// new history is reported once.
void SubscriptionState::begin_history(std::uint64_t epoch, const RunPlace& at) {
  const bool is_first = !epoch_;
  epoch_ = epoch;
  at_ = at;
  needs_snapshot_ = true;
  incoming_.reset();
  drop_buffered();
  received_sequence_.reset();
  lost_in_epoch_ = 0;
  overdue_reports_ = 0;
  sequence_reported_ = 0;
  const bool is_new = remember(epoch, at.run.id);
  is_fault_kept_ |= !is_new;
  if (!is_new) fault_ = "goes back to an epoch that it had left, and cannot be followed.";
  if (!is_new || is_first) return;
  ++counters_.restarts;
  if (handlers_.restarted) handlers_.restarted();
}

void SubscriptionState::drop_buffered() {
  buffered_.clear();
  buffered_bytes_ = 0;
}

void SubscriptionState::note_received(std::uint64_t sequence) {
  const auto before = std::exchange(received_sequence_, sequence);
  if (before && sequence != *before + 1) note_lost(sequence - *before - 1);
}

void SubscriptionState::note_lost(std::uint64_t lost) {
  counters_.ticks_lost += lost;
  lost_in_epoch_ += lost;
  if (handlers_.lost) handlers_.lost(lost);
}

void SubscriptionState::buffer(ReceivedTick received) {
  buffered_bytes_ += received.bytes;
  buffered_.push_back(std::move(received));
  while (buffered_bytes_ > options_.buffer_bytes_max) {
    buffered_bytes_ -= buffered_.front().bytes;
    buffered_.pop_front();
  }
}

std::optional<GetSnapshot> SubscriptionState::wanted_page() const {
  if (!needs_snapshot_) return std::nullopt;
  return GetSnapshot{.stream = options_.stream,
                     .query_ids = options_.query_ids,
                     .page = incoming_ ? incoming_->next_page : 0};
}

void SubscriptionState::on_page_refused() {
  incoming_.reset();
}

std::optional<Problem> SubscriptionState::on_page(const SnapshotPage& page) {
  const SnapshotHead& head = page.head;
  if (!needs_snapshot_) return std::nullopt;
  const bool is_first = !incoming_;
  enter(head);
  const HeldAt at{head.epoch, head.tick, head.tau_us, head.sequence, head.with, at_.run.id};
  if (is_first) incoming_ = Incoming{.at = at, .lists = {}};
  if (!incoming_ || incoming_->at != at)
    return refuse_snapshot("sends a snapshot whose pages are of different ticks or histories.");
  for (std::size_t list = 0; list < page.lists.list_count(); ++list) {
    const auto [held, is_new] =
        incoming_->lists.try_emplace(key_of(page.lists, list), list_of(page.lists, list));
    if (!is_new) return refuse_snapshot("sends a snapshot that has a list twice.");
    incoming_->bytes += bytes_of(held->second);
  }
  if (incoming_->lists.size() > head.list_count ||
      (head.next_page == 0 && incoming_->lists.size() < head.list_count))
    return refuse_snapshot("sends a snapshot that does not have as many lists as it says.");
  if (incoming_->bytes > options_.lists_bytes_max)
    return refuse_snapshot(too_large(options_.lists_bytes_max));
  incoming_->next_page = head.next_page;
  incoming_->predictions.note(page.lists);
  if (head.next_page != 0) return std::nullopt;
  finish_snapshot();
  incoming_.reset();
  return std::nullopt;
}

std::optional<Problem> SubscriptionState::refuse_snapshot(const std::string& why) {
  incoming_.reset();
  fault_ = why;
  return Problem{ErrorCode::malformed, why};
}

/// Counts the bytes of all lists only if what was received since the last count could be too much.
void SubscriptionState::drop_lists_if_too_large() {
  if (lists_bytes_ <= options_.lists_bytes_max) return;
  lists_bytes_ = bytes_of(lists_);
  if (lists_bytes_ <= options_.lists_bytes_max) return;
  fault_ = too_large(options_.lists_bytes_max);
  lists_.clear();
  lists_bytes_ = 0;
  held_at_.reset();
  needs_snapshot_ = true;
}

void SubscriptionState::finish_snapshot() {
  lists_ = std::move(incoming_->lists);
  std::erase_if(lists_, [&](const auto& entry) { return !is_wanted(entry.first); });
  predictions_ = incoming_->predictions;
  held_at_ = incoming_->at;
  lists_bytes_ = incoming_->bytes;
  needs_snapshot_ = false;
  if (!is_fault_kept_) fault_.clear();
  const std::uint64_t newest = received_sequence_.value_or(0);
  if (is_silent_ && held_at_->sequence > newest) note_lost(held_at_->sequence - newest);
  received_sequence_ = std::max(newest, held_at_->sequence);
  ++counters_.snapshots;
  if (handlers_.replaced) handlers_.replaced(*held_at_);
  apply_buffered();
}

void SubscriptionState::apply_buffered() {
  while (!buffered_.empty()) {
    const ReceivedTick& next = buffered_.front();
    const std::uint64_t sequence = next.tick.header.sequence;
    if (sequence > held_at_->sequence + 1) {
      needs_snapshot_ = true;
      if (++unfollowed_snapshots_ >= unfollowed_snapshots_max)
        fault_ = "sends ticks whose numbers do not follow those of its snapshots.";
      return;
    }
    if (sequence == held_at_->sequence + 1) apply(next.tick);
    buffered_bytes_ -= next.bytes;
    buffered_.pop_front();
    drop_lists_if_too_large();
    if (!held_at_) return;
  }
  unfollowed_snapshots_ = 0;
}

void SubscriptionState::apply(const DecodedTick& tick) {
  apply_lists(
      tick, [this](const ListKey& key) { return is_wanted(key); }, lists_);
  for (const ListChunk& chunk : tick.chunks) {
    predictions_.note(chunk);
    lists_bytes_ += bytes_of(chunk);
  }
  if (!fault_.empty()) fault_.clear();
  is_fault_kept_ = false;
  held_at_->sequence = tick.header.sequence;
  held_at_->with = tick.header.with;
  held_at_->run = tick.header.at.run.id;
  if (!tick.header.failed) {
    held_at_->tick = tick.header.tick;
    held_at_->tau_us = tick.header.tau_us;
  }
  ++counters_.ticks_applied;
  if (handlers_.applied) handlers_.applied(tick);
}

bool SubscriptionState::is_wanted(const ListKey& key) const {
  const auto has = [](const std::vector<std::uint64_t>& ids, std::uint64_t id) {
    return ids.empty() || std::ranges::binary_search(ids, id);
  };
  return has(options_.query_ids, to_number(key.query)) &&
         (!key.has_subject || has(options_.subject_ids, to_number(key.subject)));
}

std::optional<ReportReceived> SubscriptionState::report() const {
  if (!epoch_ || !received_sequence_) return std::nullopt;
  return ReportReceived{.stream = options_.stream,
                        .epoch = *epoch_,
                        .sequence = *received_sequence_,
                        .lost = lost_in_epoch_};
}

/// A message may still be on its way. But a message that was sent before the last report is overdue
/// if none has come since that report. A subscriber that lags, but receives messages, is not
/// silent.
void SubscriptionState::on_reported(std::uint64_t sequence) {
  const bool is_overdue =
      !std::exchange(has_heard_, false) && received_sequence_.value_or(0) < sequence_reported_;
  sequence_reported_ = sequence;
  overdue_reports_ = is_overdue ? overdue_reports_ + 1 : 0;
  if (overdue_reports_ < overdue_reports_max) return;
  is_silent_ = true;
  needs_snapshot_ = true;
}

}  // namespace starling::protocol
