// SPDX-License-Identifier: Apache-2.0
// Begins ticks on request and answers when they are published: see tick_requests.hpp.
#include "starling/stream/requests/tick_requests.hpp"

#include <string>
#include <utility>
#include <variant>

#include "starling/knn/base/time_text.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

/// Returns the time as text, for example "1467331199250000 us (2016-06-30T23:59:59Z)".
std::string time_text(std::int64_t time_us) {
  return std::to_string(time_us) + " us (" + iso_time_text(time_us, TimeDigits::seconds) + ")";
}

}  // namespace

void TickRequests::sent_again(const Caller& caller) {
  for (Caller& advancing : advancing_)
    if (advancing.head.session == caller.head.session &&
        advancing.head.sequence == caller.head.sequence)
      advancing = caller;
}

void TickRequests::advance(const Caller& caller, PreparedRequest& request) {
  const std::int64_t tau_us = std::get<protocol::AdvanceTick>(request.request.body).tau_us;
  const std::uint64_t hash = request.request.hash;
  const auto use_up = [&] { sessions_.begin(caller.head.session, caller.head.sequence, hash); };
  const auto answer_error = [&](protocol::Problem problem) {
    use_up();
    replies_.answer(caller, protocol::ErrorReply{std::move(problem), 0});
  };
  if (!tables_.time().is_manual())
    return answer_error({ErrorCode::not_manual,
                         "This server ticks by the wall clock; to advance ticks by requests, start "
                         "it with --tick manual."});
  const auto finished = [this](const TickOutcome& outcome) {
    const Caller to = std::move(advancing_.front());
    advancing_.pop_front();
    replies_.answer(to, reply_to_tick(outcome));
    if (log_.journal() != nullptr)
      log_.journal()->commits().commit_now();  // the reply waits for it
  };
  log_.record_session_late(caller);
  const TickBegunRecord mark{
      .session = caller.head.session, .sequence = caller.head.sequence, .body_hash = hash};
  switch (ticker_.advance(tau_us, mark, finished)) {
    case Ticker::Begun::begun:
      use_up();
      advancing_.push_back(caller);
      return;
    case Ticker::Begun::busy:
      return replies_.refuse(
          caller, ErrorCode::busy,
          "A tick is under way; wait for its TickDone, then send this request again.");
    case Ticker::Begun::tau_too_early:
      return answer_error(too_early());
    case Ticker::Begun::tau_too_late:
      return answer_error(too_late(tau_us));
  }
}

protocol::Problem TickRequests::too_early() const {
  return {ErrorCode::tau_too_early,
          "This server has already ticked at " + time_text(*tables_.settled().last_tau_us()) +
              ", and its ticks never go back. Advance it to that time or later. A "
              "server that starts without a log, or with a new one, begins at any "
              "time."};
}

protocol::Problem TickRequests::too_late(std::int64_t tau_us) const {
  protocol::ReachedLimit limit{"tau-step-max",
                               static_cast<std::uint64_t>(options_.tau_step_max_us)};
  std::string sentence =
      "tau_us is " + time_text(tau_us) + ", and the server's time is " +
      time_text(tables_.time().step_base_us()) + "; one request moves it by at most " +
      to_string(limit) +
      " microseconds. Check that tau_us is in microseconds, advance in several steps, or start "
      "the server with a longer --tau-step-max.";
  return {ErrorCode::bad_value, std::move(sentence), std::move(limit)};
}

}  // namespace starling::stream
