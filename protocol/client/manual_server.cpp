// Client and subscriber of one server, and the waiting: see manual_server.hpp.
#include "protocol/client/manual_server.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <zmq.hpp>

#include "sim/traces/trace.hpp"

namespace starling::sim {
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
                      .timeout_ms = patience_ms,
                      .connect_timeout_ms = options.connect_timeout_ms},
      client_(context, client_options_) {
  if (!terms().manual_ticks)
    throw UsageError("--connect: the server at " + options.commands + " ticks by itself; a " +
                     purpose + " needs one started with --tick manual");
}

std::size_t ManualServer::batch_rows_max(std::size_t bytes_per_row) const {
  const protocol::Limits& limits = terms().limits;
  const std::size_t bytes_max = std::min<std::size_t>(limits.frame_bytes_max, limits.credit_bytes);
  return std::max<std::size_t>(
      1, std::min({std::size_t{limits.rows_max}, std::size_t{limits.credit_rows},
                   bytes_max / bytes_per_row}));
}

void ManualServer::expect_all_accepted(const std::string& what) {
  const protocol::BatchTotals totals = client_.flush();
  if (totals.first_refusal) throw protocol::RefusedError(*totals.first_refusal);
  if (totals.rejected + totals.late == 0) return;
  const std::string server = "the server at " + options_.commands;
  if (totals.rejected == 0)
    throw std::runtime_error(server + " finds " + std::to_string(totals.late) + " of the " + what +
                             " late; it needs to be a new server, whose time has not begun");
  const auto first = std::ranges::find_if(totals.rejected_by_reason,
                                          [](std::uint64_t count) { return count > 0; });
  const auto reason = static_cast<std::size_t>(first - totals.rejected_by_reason.begin());
  std::string sentence = server + " rejects " + std::to_string(totals.rejected) + " of the " + what;
  // A server that is newer may have reasons that are not known here.
  if (first != totals.rejected_by_reason.end())
    sentence += ": " + std::string(protocol::to_string(static_cast<protocol::RowReason>(reason)));
  if (first != totals.rejected_by_reason.end() && !totals.limit_by_reason[reason].name.empty())
    sentence += "; its limit is " + protocol::to_string(totals.limit_by_reason[reason]);
  throw std::runtime_error(sentence);
}

// A subscription travels by itself, not with the commands; a tick before it has arrived would be
// missed. The server counts it when it has; those who leave meanwhile do not lower that count.
void ManualServer::follow(const protocol::SubscriptionOptions& subscription,
                          const protocol::SubscriptionHandlers& handlers) {
  const double before = joined_count();
  protocol::SubscriberOptions options;
  options.results = options_.results;
  options.client = client_options_;
  options.subscription = subscription;
  options.retry_interval_ms = std::min(options.retry_interval_ms, options_.missed_after_ms);
  subscriber_.emplace(context_, options, handlers);
  wait_until([&] { return joined_count() > before; }, "the stream at " + options_.results,
             options_.connect_timeout_ms);
  wait_until([&] { return state().is_live(); }, "the stream's snapshot", patience_ms);
}

double ManualServer::joined_count() {
  for (const auto& [name, value] : client_.get_stats().value())
    if (name == "starling_subscriptions_joined_total") return value;
  throw std::runtime_error("the server at " + options_.commands + " counts no subscriptions");
}

// No later tick comes in lock step to show that this one was lost on its way, beyond a high-water
// mark or while the connection was made anew.
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
      throw std::runtime_error(what + " has not come within " + std::to_string(timeout_ms) + " ms" +
                               (subscriber_->obstacle().empty() ? "; is --results right?"
                                                                : ": " + subscriber_->obstacle()));
    subscriber_->poll(poll_ms);
  }
}

}  // namespace starling::sim
