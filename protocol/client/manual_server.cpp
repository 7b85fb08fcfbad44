// SPDX-License-Identifier: Apache-2.0
// Combines a client and a subscriber of one server, and waits for them: see manual_server.hpp.
#include "starling/protocol/client/manual_server.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <zmq.hpp>

namespace starling::protocol {
namespace {

constexpr std::int64_t patience_ms = 30'000;
constexpr std::int64_t poll_ms = 20;

}  // namespace

ManualServer::ManualServer(zmq::context_t& context, const ManualServerOptions& options,
                           const std::string& purpose)
    : context_(context),
      options_(options),
      client_options_{.commands = options.commands,
                      .name = "starling " + purpose,
                      .key = options.key,
                      .timeout_ms = patience_ms,
                      .connect_timeout_ms = options.connect_timeout_ms},
      client_(context, client_options_) {
  if (!terms().manual_ticks)
    throw NotManualError("the server at " + options.commands + " ticks by itself, but a " +
                         purpose + " needs one started with --tick manual");
}

std::size_t ManualServer::batch_rows_max(std::size_t bytes_per_row) const {
  const Limits& limits = terms().limits;
  const std::size_t bytes_max = std::min<std::size_t>(limits.frame_bytes_max, limits.credit_bytes);
  return std::max<std::size_t>(
      1, std::min({std::size_t{limits.rows_max}, std::size_t{limits.credit_rows},
                   bytes_max / bytes_per_row}));
}

void ManualServer::expect_all_accepted(const std::string& what) {
  const BatchTotals totals = client_.flush();
  if (totals.first_refusal) throw RefusedError(*totals.first_refusal);
  if (totals.rejected + totals.late == 0) return;
  const std::string server = "the server at " + options_.commands;
  if (totals.rejected == 0)
    throw std::runtime_error(server + " dropped " + std::to_string(totals.late) + " of the " +
                             what + " as late, because it has newer ones; start a new server");
  const auto first = std::ranges::find_if(totals.rejected_by_reason,
                                          [](std::uint64_t count) { return count > 0; });
  const auto reason = static_cast<std::size_t>(first - totals.rejected_by_reason.begin());
  std::string sentence = server + " rejects " + std::to_string(totals.rejected) + " of the " + what;
  // A newer server may have reasons that this program does not know.
  if (first != totals.rejected_by_reason.end())
    sentence += ": " + std::string(to_string(static_cast<RowReason>(reason)));
  if (first != totals.rejected_by_reason.end() && !totals.limit_by_reason[reason].name.empty())
    sentence += "; its limit is " + to_string(totals.limit_by_reason[reason]);
  throw std::runtime_error(sentence);
}

// The subscription and the commands travel on different sockets. A tick that runs before the
// subscription arrives would be missed. The server counts all subscriptions that have ever arrived,
// so this function waits until the count grows.
void ManualServer::follow(const SubscriptionOptions& subscription,
                          const SubscriptionHandlers& handlers) {
  const double before = joined_count();
  SubscriberOptions options;
  options.results = options_.results;
  options.client = client_options_;
  options.subscription = subscription;
  options.retry_interval_ms = std::min(options.retry_interval_ms, options_.missed_after_ms);
  subscriber_.emplace(context_, options, handlers);
  const std::string results =
      options_.results.empty() ? results_of(terms(), options_.commands) : options_.results;
  wait_until([&] { return joined_count() > before; }, "the stream at " + results,
             options_.connect_timeout_ms);
  wait_until([&] { return state().is_live(); }, "the stream's snapshot", patience_ms);
}

double ManualServer::joined_count() {
  for (const auto& [name, value] : client_.get_stats().value())
    if (name == "starling_subscriptions_joined_total") return value;
  throw std::runtime_error("the server at " + options_.commands +
                           " does not report starling_subscriptions_joined_total");
}

// A tick can be lost at a high-water mark or during a reconnect. A subscriber usually notices this
// when the next tick arrives; in lock step there is no next tick, so a timeout must notice it.
void ManualServer::await_lists(Tick tick, const std::function<void()>& missed) {
  const auto missed_at =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.missed_after_ms);
  bool is_missed = false;
  const auto is_held_or_asked_for = [&] {
    const auto& held = state().held_at();
    if (held && held->tick >= tick) return true;
    if (!is_missed && std::chrono::steady_clock::now() >= missed_at) {
      is_missed = true;
      missed();
      subscriber_->miss_tick();
    }
    return false;
  };
  wait_until(is_held_or_asked_for, "tick " + std::to_string(to_number(tick)), patience_ms);
}

void ManualServer::wait_until(const std::function<bool()>& done, const std::string& what,
                              std::int64_t timeout_ms) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error("timed out after " + std::to_string(timeout_ms) +
                               " ms while waiting for " + what +
                               (subscriber_->obstacle().empty() ? "; is --results right?"
                                                                : ": " + subscriber_->obstacle()));
    subscriber_->poll(poll_ms);
    if (subscriber_->obstacle_code() == ErrorCode::not_allowed)
      throw std::runtime_error(subscriber_->obstacle());
  }
}

}  // namespace starling::protocol
