// SPDX-License-Identifier: Apache-2.0
// A rate is kept as a due time: the time at which all that was taken is paid for. See accounts.hpp.
#include "starling/stream/access/accounts.hpp"

#include <algorithm>

namespace starling::stream {

using protocol::ReachedLimit;
using protocol::RowReason;

namespace {

constexpr std::string_view quota_prefix = "quota.";

constexpr double us_a_second = 1e6;
// A longer debt is cut to an hour, so that the due time cannot overflow.
constexpr double debt_us_max = 3600 * us_a_second;

// A principal that uses a little more than its quota is only told to wait.
constexpr std::int64_t rest_us_min = 100'000;
constexpr std::int64_t rest_us_max = 500'000;

constexpr std::uint64_t batch_seconds_max = 10;
constexpr std::uint64_t small_batch_rows = 16'384;

}  // namespace

std::int64_t Accounts::wait_us(const Principal& principal, std::uint64_t rows,
                               std::int64_t now_us) {
  const auto& quota = principal.quotas.rows_per_second;
  if (!quota || rows == 0) return 0;
  Account& account = of(principal.id);
  // A due time in the past lets the principal take more. It counts for at most a second.
  const std::int64_t due_us =
      std::max(account.rows_due_us, now_us - static_cast<std::int64_t>(us_a_second));
  if (due_us > now_us) return due_us - now_us;
  const double rate = static_cast<double>(std::max<std::uint64_t>(*quota, 1));
  const double cost_us = static_cast<double>(rows) / rate * us_a_second;
  account.rows_due_us = due_us + static_cast<std::int64_t>(std::min(cost_us, debt_us_max));
  return 0;
}

std::uint64_t Accounts::batch_rows_max(const Principal& principal) {
  const auto& quota = principal.quotas.rows_per_second;
  if (!quota || *quota > UINT64_MAX / batch_seconds_max) return UINT64_MAX;
  return std::max(small_batch_rows, *quota * batch_seconds_max);
}

void Accounts::charge_loop(const Principal& principal, std::int64_t took_us, std::int64_t now_us) {
  const auto& quota = principal.quotas.loop_ms_per_second;
  if (!quota || took_us <= 0) return;
  constexpr double ms_a_second = 1e3;
  const double cost_us = static_cast<double>(took_us) * ms_a_second /
                         static_cast<double>(std::max<std::uint64_t>(*quota, 1));
  std::int64_t& due_us = of(principal.id).loop_due_us;
  due_us = std::max(due_us, now_us - static_cast<std::int64_t>(us_a_second)) +
           static_cast<std::int64_t>(std::min(cost_us, debt_us_max));
}

void Accounts::charge_refusal(const Principal& principal, std::int64_t took_us,
                              std::int64_t now_us) {
  std::int64_t& due_us = of(principal.id).loop_due_us;
  const std::int64_t due_us_max = std::max(due_us, now_us + static_cast<std::int64_t>(us_a_second));
  charge_loop(principal, took_us, now_us);
  due_us = std::min(due_us, due_us_max);
}

std::int64_t Accounts::loop_wait_us(const Principal& principal, std::int64_t now_us) {
  if (!principal.quotas.loop_ms_per_second) return 0;
  return std::max<std::int64_t>(of(principal.id).loop_due_us - now_us, 0);
}

void Accounts::forget_loop(PrincipalId principal) {
  const auto found = accounts_.find(principal);
  if (found != accounts_.end()) found->second.loop_due_us = 0;
}

std::int64_t Accounts::rest_us(PrincipalId principal, std::int64_t now_us) const {
  const auto found = accounts_.find(principal);
  if (found == accounts_.end()) return 0;
  const std::int64_t wait_us = found->second.loop_due_us - now_us;
  return wait_us < rest_us_min ? 0 : std::min(wait_us, rest_us_max);
}

void Accounts::give_back_stream(PrincipalId principal) {
  std::uint64_t& streams = of(principal).streams;
  if (streams > 0) --streams;
}

bool is_quota(const ReachedLimit& limit) {
  return limit.name.starts_with(quota_prefix);
}

ReachedLimit reached_quota(std::string_view name, std::uint64_t value) {
  return {std::string(quota_prefix) + std::string(name), value};
}

std::string quota_text(const Principal& principal, const ReachedLimit& quota) {
  return "ask the server's owner to raise " + quota.name + " of \"" + principal.name +
         "\" in the keys file";
}

ReachedLimit reached_quota(RowReason reason, const Principal& principal) {
  const Quotas& quotas = principal.quotas;
  switch (reason) {
    case RowReason::too_many_queries_of_principal:
      return reached_quota("queries", quotas.queries.value_or(0));
    case RowReason::too_many_neighbors_of_principal:
      return reached_quota("neighbors", quotas.neighbors.value_or(0));
    case RowReason::too_many_names_of_principal:
      return reached_quota("names", quotas.names.value_or(0));
    default:
      return {};
  }
}

}  // namespace starling::stream
