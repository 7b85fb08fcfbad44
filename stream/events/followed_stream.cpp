// SPDX-License-Identifier: Apache-2.0
// Decides what each reader gets next: see followed_stream.hpp.
#include "starling/stream/events/followed_stream.hpp"

#include <algorithm>
#include <utility>

namespace starling::stream {

using protocol::ErrorCode;

namespace {

// About the most that a reader is given at once. The reader holds it even after the ring drops it.
constexpr std::size_t given_bytes = std::size_t{64} << 10;
constexpr std::size_t given_events_max = 16;

constexpr std::uint64_t snapshot_age_max = 16;  ///< ticks after which a snapshot is too old
constexpr std::int64_t retry_after_us = 250'000;

}  // namespace

FollowedStream::FollowedStream(std::string name, Parts parts)
    : name_(std::move(name)),
      parts_(std::move(parts)),
      ring_(parts_.form, parts_.limits.bytes_max, parts_.limits.ticks_max),
      flush_timer_(parts_.executor.make_timer()) {}

void FollowedStream::add(const PushLink::Make& connection, std::uint64_t number,
                         const ListsReader& who, std::string_view last_event_id,
                         std::shared_ptr<const void> slot) {
  const auto reader = std::make_shared<Reader>();
  reader->number = number;
  reader->who = who;
  reader->slot = std::move(slot);
  if (const auto id = parse_event_id(last_event_id)) {
    reader->has_restarted =
        id->epoch != parts_.epoch || !protocol::is_in_log(id->run, id->place, parts_.runs);
    if (!reader->has_restarted) reader->last = id->sequence;
    reader->needs_snapshot = !reader->last || !ring_.covers(*reader->last + 1);
  }
  // The reader owns the connection, so the handlers must not own the reader.
  const std::weak_ptr<Reader> weak = reader;
  reader->connection = connection({.sent =
                                       [this, weak] {
                                         if (const auto held = weak.lock()) serve(*held);
                                       },
                                   .ended =
                                       [this, weak] {
                                         if (const auto held = weak.lock())
                                           readers_.erase(held->connection.get());
                                       }});
  readers_.emplace(reader->connection.get(), reader);
  reader->connection->start();
  serve(*reader);
  if (is_removed_) return flush();
  flush_soon();
}

void FollowedStream::publish(const protocol::TickHeader& header,
                             std::optional<protocol::TickMessage> message) {
  if (message)
    ring_.push(header.sequence, std::move(*message));
  else
    ring_.lose(header.sequence);
  is_removed_ = is_removed_ || header.stream_removed;
  forget_old_snapshot();
  if (readers_.empty()) return;
  if (is_removed_) return flush();
  flush_soon();
}

void FollowedStream::flush_soon() {
  const std::int64_t due_us = flushed_us_ + parts_.limits.flush_us;
  if (parts_.executor.now_us() >= due_us) return flush();
  if (std::exchange(is_flush_due_, true)) return;
  flush_timer_->cancel();  // a flush may have come before the timer
  flush_timer_->wait_until(due_us, [weak = weak_from_this()] {
    if (const auto held = weak.lock()) held->flush();
  });
}

void FollowedStream::flush() {
  is_flush_due_ = false;
  flushed_end_ = ring_.end();
  flushed_us_ = parts_.executor.now_us();
  serve_all();
}

void FollowedStream::take(const SnapshotFetch::Result& result) {
  is_fetching_ = false;
  if (result.snapshot) {
    snapshot_ = Ready{.sequence = result.snapshot->sequence,
                      .events = snapshot_events(name_, *result.snapshot)};
  } else {
    retry_us_ = parts_.executor.now_us() + retry_after_us;
    if (result.problem->code == ErrorCode::too_many_rows) {
      const EventText refused = refused_event(*result.problem);
      const auto readers = readers_;  // a copy: a connection that ends erases its reader
      for (const auto& [connection, reader] : readers)
        if (reader->needs_snapshot && reader->connection->is_idle()) end(*reader, refused);
    }
  }
  serve_all();
}

void FollowedStream::beat(std::int64_t now_us) {
  const auto readers = readers_;  // a copy: a connection that ends erases its reader
  for (const auto& [connection, reader] : readers) {
    const std::int64_t waited_us = now_us - connection->progress_us();
    if (connection->is_idle()) {
      if (waited_us >= parts_.limits.heartbeat_us) connection->send({heartbeat_text()});
    } else if (waited_us >= parts_.limits.stall_us) {
      ++parts_.counts.stalled;
      connection->close();
    }
  }
  serve_all();
}

void FollowedStream::cut(const std::function<bool(zmtp::PrincipalId)>& is_meant) {
  const auto readers = readers_;  // a copy: a connection that ends erases its reader
  for (const auto& [connection, reader] : readers)
    if (is_meant(reader->who.principal)) connection->close();
}

void FollowedStream::cut(std::uint64_t number) {
  const auto found = std::ranges::find_if(
      readers_, [number](const auto& each) { return each.second->number == number; });
  if (found == readers_.end()) return;
  const auto held = found->second;  // a connection that ends erases its reader
  held->connection->close();
}

void FollowedStream::close() {
  flush_timer_->cancel();
  const auto readers = readers_;
  for (const auto& [connection, reader] : readers) connection->close();
}

void FollowedStream::serve_all() {
  const auto readers = readers_;  // a copy: a connection that ends erases its reader
  for (const auto& [connection, reader] : readers) serve(*reader);
}

void FollowedStream::serve(Reader& reader) {
  if (reader.is_ending || !reader.connection->is_idle()) return;
  std::vector<EventText> texts = next_events(reader);
  if (texts.empty() && is_removed_) return end(reader, removed_event(name_));
  if (texts.empty() && reader.needs_snapshot) texts = catch_up(reader);
  if (texts.empty()) texts = next_events(reader);
  send(reader, std::move(texts));
}

/// Returns the events after the reader's last event, up to a limit. If the ring has dropped the
/// next event, sets needs_snapshot.
std::vector<EventText> FollowedStream::next_events(Reader& reader) {
  std::vector<EventText> texts;
  if (reader.needs_snapshot || ring_.is_new()) return texts;
  std::size_t bytes = 0;
  while (bytes < given_bytes && texts.size() < given_events_max) {
    const std::uint64_t next = *reader.last + 1;
    if (next >= flushed_end_) break;
    EventText text = next < ring_.first() ? nullptr : ring_.event(next);
    if (text == nullptr) {
      reader.needs_snapshot = true;
      break;
    }
    bytes += text->size();
    texts.push_back(std::move(text));
    reader.last = next;
  }
  return texts;
}

/// Returns a gap event, if the reader has missed events, and the events of the snapshot. Returns no
/// events if there is no snapshot yet, or if the reader has missed nothing.
std::vector<EventText> FollowedStream::catch_up(Reader& reader) {
  std::vector<EventText> texts;
  const bool follows = snapshot_ && (ring_.is_new() || snapshot_->sequence + 1 >= ring_.first());
  if (!follows) {
    want_snapshot(reader);
    return texts;
  }
  reader.needs_snapshot = false;
  if (reader.last == snapshot_->sequence) return texts;
  append_gap(reader, texts);
  texts.insert(texts.end(), snapshot_->events.begin(), snapshot_->events.end());
  reader.last = snapshot_->sequence;
  return texts;
}

void FollowedStream::append_gap(Reader& reader, std::vector<EventText>& texts) {
  // A client may send a number beyond the newest event. It counts as the number of another server.
  const bool is_of_now = reader.last && *reader.last < snapshot_->sequence;
  if (is_of_now) {
    const std::uint64_t missed = snapshot_->sequence - *reader.last;
    texts.push_back(gap_event(missed));
    parts_.counts.dropped += missed;
  } else if (reader.has_restarted || reader.last) {
    texts.push_back(restarted_event());
  }
  reader.has_restarted = false;
  parts_.counts.gaps += texts.size();
}

void FollowedStream::send(Reader& reader, std::vector<EventText> texts) {
  parts_.counts.sent += texts.size();
  reader.connection->send(std::move(texts));
}

void FollowedStream::end(Reader& reader, EventText last) {
  reader.is_ending = true;
  send(reader, {std::move(last)});
  reader.connection->finish();
}

void FollowedStream::want_snapshot(const Reader& reader) {
  if (is_fetching_ || parts_.executor.now_us() < retry_us_) return;
  is_fetching_ = true;
  parts_.fetch(weak_from_this(), reader.who);
}

void FollowedStream::forget_old_snapshot() {
  if (!snapshot_) return;
  if (readers_.empty() || ring_.end() > snapshot_->sequence + 1 + snapshot_age_max)
    snapshot_.reset();
}

}  // namespace starling::stream
