// SPDX-License-Identifier: Apache-2.0
// Gives requests their turns, decodes them and keeps their order: see request_intake.hpp.
#include "starling/stream/request_intake.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "starling/knn/base/insist.hpp"

namespace starling::stream {

namespace {

constexpr std::size_t decode_on_loop_bytes_max = 4096;
constexpr std::size_t medium_bytes_max = std::size_t{128} << 10;

// The loop does other work after this time or this many requests, whichever comes first. The limits
// are low enough that ticks begin on time, and high enough that the cost of waking the loop does
// not matter.
constexpr std::int64_t turns_us_max = 1000;
constexpr int requests_max = 64;
// A connection has a few turns together, so that its replies leave, and wake it, together.
constexpr TurnLength turn{.items = 16, .us = 500};

// If the loop has waited for the processor for longer than this in its turns, the request that
// seems to have cost the most gets that time back. Else a client would pay for what other programs
// do.
constexpr std::int64_t stood_us_min = 100;

// About what a request costs beside its handling: the work of the I/O threads, with encryption, or
// that of HTTP.
constexpr std::int64_t io_us_per_request = 20;
constexpr std::int64_t http_us_per_request = 100;
constexpr std::size_t io_bytes_per_us = 1024;

/// Returns the most that a request of `bytes` costs in decoding and handling. If it seems to have
/// taken longer, its thread has waited for the processor, or others of the round were applied.
std::int64_t most_us(std::size_t bytes) {
  constexpr std::int64_t us_per_request = 100;
  constexpr std::size_t bytes_per_us = 50;
  return us_per_request + static_cast<std::int64_t>(bytes / bytes_per_us);
}

std::int64_t io_us(const Peer& peer, std::size_t bytes) {
  return (peer.has_connection() ? io_us_per_request : http_us_per_request) +
         static_cast<std::int64_t>(bytes / io_bytes_per_us);
}

}  // namespace

RequestIntake::RequestIntake(const ServerOptions& options, Parts parts)
    : options_(options),
      executor_(parts.executor),
      access_(parts.access),
      metrics_(parts.metrics),
      requests_(parts.requests),
      tables_(parts.tables),
      journal_(parts.journal),
      ended_(std::move(parts.ended)),
      turns_(turn),
      medium_(*this, options.decode_threads, ThreadPriority::normal),
      long_(*this, options.decode_threads, ThreadPriority::below_normal) {}

RequestIntake::Lane::Lane(RequestIntake& intake, unsigned threads, ThreadPriority priority)
    : pool(intake.executor_, threads, priority,
           {.may_begin = [&intake] { return intake.may_change(); },
            .takes_more = [&intake] { return intake.tables_.takes_more_updates(); },
            .end = [&intake, this] { intake.round_ended(*this); }}) {}

/// Whether the workers of the lane may get one more request.
bool RequestIntake::has_room(Lane& lane) const {
  const std::size_t waiting = lane.pool.waiting();
  if (waiting < 2 * std::size_t{options_.decode_threads}) return true;
  return decoding() < options_.decode_requests_max &&
         decoding_bytes() < options_.decode_bytes_max && lane.window.has_room(waiting, lane.bytes);
}

/// Returns the lane of a payer's request of `bytes`, or nullptr if the lane has no room, or if
/// requests of the payer in the other lane must be handled before.
RequestIntake::Lane* RequestIntake::lane_for(const Payer& payer, std::size_t bytes) {
  const bool is_long = bytes > medium_bytes_max;
  Lane& lane = is_long ? long_ : medium_;
  Lane& other = is_long ? medium_ : long_;
  if (other.has(payer)) {
    other.is_waited_for = true;
    return nullptr;
  }
  if (has_room(lane)) return &lane;
  lane.is_waited_for = true;
  return nullptr;
}

template <class Submit>
void RequestIntake::Lane::enter(const Payer& payer, std::size_t request_bytes, std::int64_t now_us,
                                const Submit& submit) {
  ++requests_of[payer];
  window.began(pool.waiting() == 0, now_us);
  bytes += request_bytes;
  try {
    submit();
  } catch (...) {
    leave(payer, request_bytes);
    throw;
  }
}

void RequestIntake::Lane::leave(const Payer& payer, std::size_t request_bytes) {
  bytes -= request_bytes;
  const auto found = requests_of.find(payer);
  if (--found->second == 0) requests_of.erase(found);
}

// The lane that did not have the last round is the first that finds the tables free.
void RequestIntake::go_on() {
  (long_was_last_ ? medium_ : long_).pool.go_on();
  (long_was_last_ ? long_ : medium_).pool.go_on();
}

/// Whether a request that changes something may be handled now.
bool RequestIntake::may_change() const {
  return tables_.has_room() && (journal_ == nullptr || !journal_->commits().is_behind());
}

void RequestIntake::receive(const Peer& peer, ReceivedBytes received, ReceivedRoom room) {
  if (is_stopped_ && !peer.in_process) return;
  Waiting request{peer, std::move(received), std::move(room)};
  if (serve_at_once(request)) return;
  turns_.push(payer_of(peer), std::move(request));
  turn_soon();
}

/// Serves a short request that has no competitors without a turn, but only one until the loop has
/// done what waits for it. Returns false if the request must wait for its turn.
bool RequestIntake::serve_at_once(Waiting& request) {
  const bool is_short = request.received.bytes.size() <= decode_on_loop_bytes_max;
  if (!may_serve_at_once_ || turns_.size() > 0 || request.peer.in_process || !is_short)
    return false;
  try {
    executor_.post([this] { may_serve_at_once_ = true; });
  } catch (const std::bad_alloc&) {
    return false;
  }
  may_serve_at_once_ = false;
  const Payer payer = payer_of(request.peer);
  const std::int64_t since_us = executor_.now_us();
  const bool is_served = serve(payer, request);
  turns_.charge(payer, executor_.now_us() - since_us + io_us(request.peer, 0));
  if (is_served) ended_();
  return is_served;
}

void RequestIntake::receive_malformed(const Peer& peer, ReceivedRoom room) {
  if (is_stopped_) return;
  turns_.push(payer_of(peer), {.peer = peer, .room = std::move(room), .is_malformed = true});
  turn_soon();
}

void RequestIntake::turn_soon() {
  if (!turns_.is_ready() || is_turn_posted_) return;
  insist([this] {
    executor_.post([this] {
      is_turn_posted_ = false;
      take_turns();
      turn_soon();
      if (turns_.size() == 0) ended_();
    });
  });
  is_turn_posted_ = true;
}

void RequestIntake::take_turns() {
  const std::int64_t begun_us = executor_.now_us();
  // The clock of the thread is a system call, which a request without competitors need not pay.
  const bool is_contended = turns_.size() > 1;
  const std::int64_t begun_worked_us = is_contended ? executor_.worked_us() : 0;
  std::int64_t now_us = begun_us;
  Payer dearest;
  std::int64_t dearest_us = 0;
  for (int count = 0;
       count < requests_max && turns_.is_ready() && now_us < begun_us + turns_us_max;)
    turns_.serve_next([&](const Payer& payer, Waiting& request) -> std::optional<std::int64_t> {
      ++count;
      const std::size_t bytes = request.received.bytes.size();
      const bool is_dropped = is_stopped_ && !request.peer.in_process;
      const bool is_served = is_dropped || serve(payer, request);
      const std::int64_t since_us = std::exchange(now_us, executor_.now_us());
      if (!is_served) {
        turns_.charge(payer, now_us - since_us);
        return std::nullopt;
      }
      if (now_us - since_us > dearest_us) {
        dearest = payer;
        dearest_us = now_us - since_us;
      }
      return now_us - since_us + io_us(request.peer, bytes);
    });
  if (!is_contended) return;
  const std::int64_t stood_us = now_us - begun_us - (executor_.worked_us() - begun_worked_us);
  if (stood_us > stood_us_min) turns_.charge(dearest, -std::min(stood_us, dearest_us));
}

/// Handles a request, or hands it to the workers. Returns false if it must wait for them.
bool RequestIntake::serve(const Payer& payer, Waiting& request) {
  if (const std::int64_t rest_us = requests_.rest_us(request.peer.principal); rest_us > 0)
    request.room.rest_until(executor_.now_us() + rest_us);
  if (request.is_malformed) {
    requests_.refuse_malformed(request.peer, access_.ring().principal(request.peer.principal),
                               io_us(request.peer, 0));
    return true;
  }
  if (request.received.bytes.size() <= decode_on_loop_bytes_max) return serve_short(payer, request);
  Lane* const lane = lane_for(payer, request.received.bytes.size());
  if (lane == nullptr) return false;
  decode_beside(*lane, payer, request);
  return true;
}

/// The loop decodes short requests, because handing them to a worker costs more. A short request
/// that changes nothing does not wait for batches that are being decoded, and one that changes
/// something waits for those of its payer alone.
bool RequestIntake::serve_short(const Payer& payer, Waiting& request) {
  PreparedRequest prepared = request.prepared ? std::move(*request.prepared)
                                              : prepare(request.peer, std::move(request.received));
  const bool is_first = !medium_.has(payer) && !long_.has(payer);
  if (!prepared.request.sequenced || (is_first && may_change())) {
    requests_.handle(request.peer, std::move(prepared));
    tables_.updates().apply();
    return true;
  }
  Lane& lane = long_.has(payer) ? long_ : medium_;
  if (!has_room(lane)) {
    lane.is_waited_for = true;
    request.prepared = std::make_unique<PreparedRequest>(std::move(prepared));
    return false;
  }
  lane.enter(payer, prepared.received.bytes.size(), executor_.now_us(), [&] {
    lane.pool.submit_done(completion_of(lane, payer, request.peer, std::move(prepared), 0));
  });
  return true;
}

void RequestIntake::decode_beside(Lane& lane, const Payer& payer, Waiting& request) {
  const std::size_t bytes = request.received.bytes.size();
  auto work = [this, &lane, payer, peer = request.peer,
               received = std::move(request.received)]() mutable {
    PreparedRequest prepared = prepare(peer, std::move(received));
    const std::int64_t decoded_us = prepared.decoded_us;
    return completion_of(lane, payer, peer, std::move(prepared), decoded_us);
  };
  lane.enter(payer, bytes, executor_.now_us(), [&] { lane.pool.submit(std::move(work)); });
}

PreparedRequest RequestIntake::prepare(const Peer& peer, ReceivedBytes received) {
  const std::int64_t since_us = executor_.now_us();
  PreparedRequest prepared =
      prepare_request(std::move(received), options_.limits, tables_.space(), requests_.credit(),
                      access_.ring().principal(peer.principal));
  const std::size_t bytes = prepared.received.bytes.size();
  const std::int64_t decoded_us = executor_.now_us() - since_us;
  metrics_.decoded(static_cast<double>(decoded_us) / 1e3);
  prepared.decoded_us = std::min(decoded_us, most_us(bytes));
  prepared.beside_us = prepared.decoded_us + io_us(peer, bytes);
  return prepared;
}

OrderedPool::Completion RequestIntake::completion_of(Lane& lane, const Payer& payer,
                                                     const Peer& peer, PreparedRequest request,
                                                     std::int64_t beside_us) {
  const auto prepared = std::make_shared<PreparedRequest>(std::move(request));
  return [this, &lane, payer, peer, prepared, beside_us] {
    const std::int64_t since_us = executor_.now_us();
    const std::size_t bytes = prepared->received.bytes.size();
    lane.leave(payer, bytes);
    requests_.handle(peer, std::move(*prepared));
    const std::int64_t took_us = beside_us + executor_.now_us() - since_us;
    applied_.push_back({payer, bytes, std::min(took_us, most_us(bytes))});
    ended_();
  };
}

/// Applies the updates of a round, and charges each request with its own time and its share of
/// this.
void RequestIntake::round_ended(Lane& lane) {
  long_was_last_ = &lane == &long_;
  const std::int64_t since_us = executor_.now_us();
  tables_.updates().apply();
  const std::int64_t now_us = executor_.now_us();
  double bytes = 1;
  for (const Applied& each : applied_) bytes += static_cast<double>(each.bytes);
  for (const Applied& each : applied_) {
    const double share = static_cast<double>(each.bytes) / bytes;
    const auto apply_us =
        std::min(static_cast<std::int64_t>(share * static_cast<double>(now_us - since_us)),
                 most_us(each.bytes));
    turns_.charge(each.payer, each.us + apply_us);
    lane.window.ended(each.bytes, now_us);
  }
  applied_.clear();
  const auto frees_payers = [this](Lane& each) { return each.is_waited_for && has_room(each); };
  if (frees_payers(medium_) || frees_payers(long_)) {
    medium_.is_waited_for = long_.is_waited_for = false;
    turns_.release();
  }
  turn_soon();
}

void RequestIntake::stop() {
  is_stopped_ = true;
  turns_.release();
  turn_soon();
}

void RequestIntake::work_beside(std::size_t bytes,
                                std::function<std::function<void()>()> function) {
  auto work = [this, bytes, function = std::move(function)]() -> OrderedPool::Completion {
    return [this, bytes, complete = function()] {
      long_.leave(Payer{}, bytes);
      complete();
      ended_();
    };
  };
  long_.enter(Payer{}, bytes, executor_.now_us(), [&] { long_.pool.submit(std::move(work)); });
}

}  // namespace starling::stream
