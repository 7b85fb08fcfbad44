// SPDX-License-Identifier: Apache-2.0
// Passes what the loop posts to the readers: see socket_thread.hpp.
#include "starling/stream/websocket/socket_thread.hpp"

#include <utility>

namespace starling::stream {

namespace {

constexpr std::int64_t socket_beat_us = 250'000;

}  // namespace

SocketThread::SocketThread(Parts parts, Executor& executor, std::unique_ptr<OwnThread> own)
    : parts_(std::move(parts)),
      own_(std::move(own)),
      executor_(executor),
      timer_(executor_.make_timer()),
      views_(parts_.space.is_vector() ? nullptr : std::make_unique<SharedViews>(parts_.space)) {}

SocketThread::~SocketThread() {
  if (own_ != nullptr) own_->join();
}

SocketReader* SocketThread::find(std::uint64_t reader) {
  const auto found = readers_.find(reader);
  return found == readers_.end() ? nullptr : found->second.reader.get();
}

SocketReader::Parts SocketThread::reader_parts(const Peer& peer) {
  const std::uint64_t reader = peer.connection;
  return {.executor = executor_,
          .limits = parts_.limits,
          .counts = counts_,
          .space = parts_.space.space,
          .views = views_.get(),
          .epoch = parts_.epoch,
          .name_of = parts_.name_of,
          .request = [this, peer](auto message) { parts_.request(peer, std::move(message)); },
          .follow =
              [this, reader](std::uint64_t request_id, std::string stream) {
                parts_.follow(reader, request_id, std::move(stream));
              },
          .unfollow = [this](const std::string& stream) { parts_.unfollow(stream); },
          .refusal_of =
              [this, peer](const protocol::SocketBody& body) {
                return parts_.refusal_of(peer.connection, peer.principal, body);
              },
          .views_changed = [this] { views_changed(); },
          .ended =
              [this, reader] {
                const auto ended = readers_.extract(reader);
                if (is_closed_ && readers_.empty()) stop();
              }};
}

void SocketThread::add(const SocketOpening& opening, const MessageLink::Make& socket,
                       std::shared_ptr<const void> place) {
  if (is_closed_) return;
  const auto added =
      readers_.emplace(opening.peer.connection,
                       Reader{opening.peer.principal, std::move(place),
                              std::make_unique<SocketReader>(socket, reader_parts(opening.peer))});
  if (readers_.size() == 1) beat_later();
  added.first->second.reader->start(opening.head, opening.protocol);
}

void SocketThread::take_reply(std::uint64_t reader, const protocol::Frame& frame) {
  if (SocketReader* const found = find(reader)) found->take_reply(frame);
}

void SocketThread::followed(std::uint64_t reader, std::uint64_t request_id,
                            const std::string& stream,
                            const std::optional<protocol::Problem>& problem) {
  if (SocketReader* const found = find(reader))
    found->followed(request_id, stream, problem);
  else if (!problem)
    parts_.unfollow(stream);
}

void SocketThread::publish(const std::string& stream, const protocol::TickHeader& header,
                           std::optional<protocol::TickMessage> message) {
  FollowedTick tick;
  if (message) tick.message = std::make_shared<const SocketMessage>(std::move(*message));
  if (header.stream_removed)
    tick.removal = std::make_shared<const SocketMessage>(
        protocol::encode_tick(stream, header, {.with = header.with}));
  for (const auto& [name, reader] : readers_) reader.reader->publish(stream, tick);
}

void SocketThread::take_rows(std::uint64_t feed, const MirrorRows* rows, const MirrorState& state) {
  if (feed != feed_ || feed == 0) return;
  if (rows != nullptr) views_->mirror.apply(*rows);
  const bool is_first = state.is_complete && !views_->state.is_complete;
  views_->state = state;
  if (!state.is_behind) was_behind_ = false;
  if (is_first || (is_due_ && !state.is_behind)) show_now();
}

void SocketThread::show() {
  if (feed_ == 0) return;
  // A mirror that is behind is shown when it has caught up. If that takes longer than a tick, the
  // mirror is shown although it is behind.
  is_due_ = views_->state.is_behind;
  const bool was_behind = std::exchange(was_behind_, is_due_);
  if (!is_due_ || was_behind) show_now();
}

void SocketThread::show_now() {
  if (!views_->state.is_behind) is_due_ = false;
  ++views_->version;
  for (const auto& [name, reader] : readers_) reader.reader->show();
}

/// Asks for rows when the first view begins. Frees the mirror when the last view has ended.
void SocketThread::views_changed() {
  const bool has_views = counts_.views > 0;
  if (has_views == (feed_ != 0)) return;
  feed_ = has_views ? ++last_feed_ : 0;
  was_behind_ = is_due_ = false;
  views_->state = {};
  views_->mirror.clear();
  views_->scratch = {};
  parts_.feed(feed_);
}

void SocketThread::beat_later() {
  timer_->cancel();  // the timer still waits if the last reader left and another came
  timer_->wait_until(executor_.now_us() + socket_beat_us, [this] {
    if (is_closed_ || readers_.empty()) return;
    for (const auto& [name, reader] : readers_) reader.reader->beat(executor_.now_us());
    beat_later();
  });
}

/// Ends the thread, also if Asio still has something to do.
void SocketThread::stop() {
  if (own_ != nullptr) own_->context().stop();
}

void SocketThread::cut(const std::function<bool(PrincipalId)>& is_meant) {
  std::vector<SocketReader*> meant;  // a copy: a reader that ends leaves readers_
  for (const auto& [name, reader] : readers_)
    if (is_meant(reader.principal)) meant.push_back(reader.reader.get());
  for (SocketReader* const reader : meant) reader->cut();
}

void SocketThread::give_way(std::uint64_t reader) {
  if (SocketReader* const found = find(reader)) found->give_way();
}

void SocketThread::close() {
  is_closed_ = true;
  timer_->cancel();
  if (readers_.empty()) return stop();
  std::vector<SocketReader*> open;  // a copy: a reader that ends leaves readers_
  for (const auto& [name, reader] : readers_) open.push_back(reader.reader.get());
  for (SocketReader* const reader : open) reader->close();
}

}  // namespace starling::stream
