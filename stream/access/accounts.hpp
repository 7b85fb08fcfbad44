// SPDX-License-Identifier: Apache-2.0
// How much each principal has used of its quotas in the keys file. Owners has the accounts and
// passes the time. A principal gets an account when it first uses a quota, so the keys file
// limits the number of accounts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "starling/protocol/wire/errors.hpp"
#include "starling/stream/access/principal.hpp"

namespace starling::stream {

class Accounts {
 public:
  struct Account {
    std::uint64_t streams = 0;  ///< number of existing streams that the principal made
    std::uint64_t names = 0;    ///< number of names that the principal was the first to send
    std::int64_t rows_due_us = 0;
    std::int64_t loop_due_us = 0;
  };

  /// Call it when a stream that the principal made is removed.
  void give_back_stream(PrincipalId principal);
  Account& of(PrincipalId principal) { return accounts_[principal]; }

  /// Takes `rows` from the principal's rows_per_second, and returns 0. If the quota is used up,
  /// takes nothing and returns how long the principal must wait. One second's quota may be taken at
  /// once. A larger batch is taken too, and the batch after it waits longer. The batch has at most
  /// batch_rows_max() rows.
  std::int64_t wait_us(const Principal& principal, std::uint64_t rows, std::int64_t now_us);

  /// Returns the most rows of one batch under the principal's rows_per_second: those of 10 s, but
  /// 16,384 in any case, which HTTP sends at once.
  static std::uint64_t batch_rows_max(const Principal& principal);

  /// Charges the principal for `took_us` of the loop, or of the thread that applies updates beside
  /// the loop.
  void charge_loop(const Principal& principal, std::int64_t took_us, std::int64_t now_us);
  /// Charges the principal for a refusal in the same way, but lets it wait no longer than a second
  /// for its refusals.
  void charge_refusal(const Principal& principal, std::int64_t took_us, std::int64_t now_us);
  /// Forgets what was charged, because the keys file has no such quota now.
  void forget_loop(PrincipalId principal);
  /// Returns how long the principal must wait if its loop_ms_per_second is used up, else 0. The
  /// quota of one second may be taken at once.
  std::int64_t loop_wait_us(const Principal& principal, std::int64_t now_us);
  /// Returns how long the principal's connections are not read, because it would have to wait for
  /// so long that refusing all that it sends meanwhile would cost others too much.
  std::int64_t rest_us(PrincipalId principal, std::int64_t now_us) const;

 private:
  std::unordered_map<PrincipalId, Account> accounts_;
};

/// Returns the quota as the limit of a refusal, for example "quota.rows_per_second (1000)".
protocol::ReachedLimit reached_quota(std::string_view name, std::uint64_t value);

/// Returns whether the limit is from reached_quota.
bool is_quota(const protocol::ReachedLimit& limit);

/// Returns the end of a refusal's sentence: what the client can do about the quota.
std::string quota_text(const Principal& principal, const protocol::ReachedLimit& quota);

/// Returns the principal's quota that rejects rows with `reason`. The name is empty if no quota
/// does.
protocol::ReachedLimit reached_quota(protocol::RowReason reason, const Principal& principal);

}  // namespace starling::stream
