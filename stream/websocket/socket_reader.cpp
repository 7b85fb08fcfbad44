// SPDX-License-Identifier: Apache-2.0
// Carries out what a client of a WebSocket asks: see socket_reader.hpp.
#include "starling/stream/websocket/socket_reader.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::stream {

using protocol::ErrorCode;
using protocol::Problem;

namespace {

constexpr std::int64_t us_per_s = 1'000'000;
// While more bytes wait for a client, its requests are not read, and no message of a view is made.
constexpr std::size_t few_bytes = std::size_t{1} << 20;

// Returns a little less than the period that the client asked for. If ticks and messages have the
// same rate, a message that is late after its tick is then followed by messages that catch up.
std::int64_t period_us(const protocol::View& view) {
  constexpr float share = 0.95F;
  return static_cast<std::int64_t>(share * static_cast<float>(us_per_s) / view.ticks_per_s);
}

}  // namespace

SocketReader::SocketReader(const MessageLink::Make& socket, Parts parts)
    : parts_(std::move(parts)),
      socket_(socket(parts_.limits, parts_.counts,
                     {.received = [this](auto message) { take(std::move(message)); },
                      .sent =
                          [this] {
                            read_if_allowed();
                            show();
                          },
                      .ended = [this] { end(); }})),
      view_timer_(parts_.executor.make_timer()) {}

void SocketReader::take(std::vector<std::byte> message) {
  switch (protocol::kind_of(message)) {
    case protocol::SocketMessageKind::request:
      ++requests_;
      parts_.request(std::move(message));
      break;
    case protocol::SocketMessageKind::socket_request:
      take(protocol::decode_socket_request(protocol::AlignedBytes(message), parts_.space));
      break;
    case protocol::SocketMessageKind::other:
      answer(0, Problem{ErrorCode::malformed,
                        "The message is neither a Request (file identifier STRQ) nor a "
                        "SocketRequest (STWS)."});
      break;
  }
  if (!may_read()) socket_->pause();
}

void SocketReader::take(const protocol::DecodedSocketRequest& request) {
  if (request.problem) return answer(request.request_id, request.problem);
  if (auto refusal = parts_.refusal_of(request.body)) return answer(request.request_id, refusal);
  if (const auto* view = std::get_if<protocol::View>(&request.body))
    return put_view(request.request_id, *view);
  if (const auto* follow = std::get_if<protocol::Follow>(&request.body)) {
    is_following_ = true;
    return parts_.follow(request.request_id, std::string(follow->stream));
  }
  if (const auto* end = std::get_if<protocol::EndFollow>(&request.body))
    end_follow(std::string(end->stream));
  else
    end_view();
  answer(request.request_id, std::nullopt);
}

void SocketReader::put_view(std::uint64_t request_id, const protocol::View& view) {
  const bool is_first = !view_;
  view_.emplace(request_id, view,
                ShownView::Parts{.mirror = parts_.views->mirror,
                                 .scratch = parts_.views->scratch,
                                 .epoch = parts_.epoch,
                                 .entering_bytes_max = parts_.limits.entering_bytes_max,
                                 .name_of = parts_.name_of});
  shown_version_ = 0;
  answer(request_id, std::nullopt);
  if (is_first) {
    ++parts_.counts.views;
    parts_.views_changed();
  }
  show();
}

void SocketReader::end_view() {
  if (!view_) return;
  view_.reset();
  view_timer_->cancel();
  --parts_.counts.views;
  parts_.views_changed();
}

void SocketReader::show() {
  const SharedViews* views = parts_.views;
  if (!view_ || !views->state.is_complete) return;
  if (shown_version_ == views->version && !view_->has_more()) return;
  // The handler `sent` calls show() again.
  if (!view_message_.expired() || socket_->waiting_bytes() > few_bytes) return;
  const std::int64_t now_us = parts_.executor.now_us();
  // A tick that comes a little early is not left out.
  const std::int64_t early_us = period_us(view_->view()) / 10;
  const std::int64_t next_us = std::max(next_by_rate_us_ - early_us, next_by_bytes_us_);
  if (now_us < next_us) {
    view_timer_->cancel();
    // If the timer expires before the reader ends, its handler may run later.
    return view_timer_->wait_until(next_us, [this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) show();
    });
  }
  shown_version_ = views->version;
  const auto message = std::make_shared<const SocketMessage>(
      view_->next(views->state.time.tick, views->state.time.tau_us));
  const protocol::View& view = view_->view();
  next_by_rate_us_ = std::max(next_by_rate_us_, now_us - period_us(view)) + period_us(view);
  const auto took_us =
      static_cast<std::int64_t>(message->bytes() * std::uint64_t{us_per_s} / view.bytes_per_s);
  next_by_bytes_us_ = std::max(next_by_bytes_us_, now_us - us_per_s / 2) + took_us;
  view_message_ = message;
  socket_->send(message);
}

void SocketReader::followed(std::uint64_t request_id, const std::string& stream,
                            const std::optional<Problem>& problem) {
  is_following_ = false;
  if (problem) {
    answer(request_id, problem);
  } else if (streams_.size() >= parts_.limits.streams_max && !streams_.contains(stream)) {
    parts_.unfollow(stream);
    answer(request_id,
           Problem{ErrorCode::too_many_streams,
                   "A WebSocket follows at most " + std::to_string(parts_.limits.streams_max) +
                       " streams; end to follow another one, or open a second "
                       "WebSocket."});
  } else {
    if (!streams_.insert(stream).second) parts_.unfollow(stream);
    answer(request_id, std::nullopt);
  }
  read_if_allowed();
}

void SocketReader::end_follow(const std::string& stream) {
  if (streams_.erase(stream) > 0) parts_.unfollow(stream);
}

void SocketReader::publish(const std::string& stream, const FollowedTick& tick) {
  if (!streams_.contains(stream)) return;
  const bool is_last = tick.removal != nullptr;
  if (tick.message != nullptr &&
      socket_->waiting_bytes() + tick.message->bytes() <= parts_.limits.follow_bytes_max) {
    socket_->send(tick.message);
  } else {
    ++parts_.counts.lost_ticks;
    // It is short and needs no limit: there is one for each Follow, and while many bytes wait for a
    // client, no Follow is read.
    if (is_last) socket_->send(tick.removal);
  }
  if (is_last) end_follow(stream);
}

void SocketReader::take_reply(const protocol::Frame& frame) {
  --requests_;
  if (frame.size() <= parts_.limits.reply_bytes_max) {
    send(frame);
  } else {
    const protocol::AlignedBytes aligned(frame.bytes());
    const protocol::ReplyHead head = protocol::decode_reply(aligned).head;
    send(protocol::encode_error(
        head,
        {.problem = {ErrorCode::too_many_rows, "The reply has " + std::to_string(frame.size()) +
                                                   " bytes, and a WebSocket carries at most " +
                                                   std::to_string(parts_.limits.reply_bytes_max) +
                                                   "; ask in smaller parts."}}));
  }
  read_if_allowed();
}

void SocketReader::answer(std::uint64_t request_id, const std::optional<Problem>& problem) {
  const protocol::ReplyHead head{.request_id = request_id};
  send(problem ? protocol::encode_error(head, {.problem = *problem}) : protocol::encode_done(head));
}

void SocketReader::send(protocol::Frame frame) {
  socket_->send(std::make_shared<const SocketMessage>(std::move(frame)));
}

bool SocketReader::may_read() const {
  return !is_following_ && requests_ < parts_.limits.requests_max &&
         socket_->waiting_bytes() <= few_bytes;
}

void SocketReader::read_if_allowed() {
  if (may_read()) socket_->read_on();
}

void SocketReader::end() {
  for (const std::string& stream : streams_) parts_.unfollow(stream);
  streams_.clear();
  end_view();
  const auto ended = std::move(parts_.ended);
  ended();  // destroys this object
}

}  // namespace starling::stream
