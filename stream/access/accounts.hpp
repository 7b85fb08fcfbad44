// SPDX-License-Identifier: Apache-2.0
// What each principal has taken of its quotas in the keys file. Owners has the accounts and
// passes the time. There are as many as principals that have sent requests, all of them in the
// keys file.
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
    std::uint64_t streams = 0;  ///< number of streams that it has made and that exist
    std::uint64_t names = 0;    ///< number of names that it was the first to send
    std::int64_t rows_due_us = 0;
    std::int64_t loop_due_us = 0;
  };

  /// Call it when a stream is removed that the principal has made.
  void give_back_stream(PrincipalId principal);
  Account& of(PrincipalId principal) { return accounts_[principal]; }

  /// Takes `rows` of the principal's rows_per_second. Returns how long it must wait, and takes
  /// nothing, if the quota is used up. The quota of one second may be taken at once; a batch of
  /// more rows is taken too, and the next one waits the longer.
  std::int64_t wait_us(const Principal& principal, std::uint64_t rows, std::int64_t now_us);

  /// Charges the principal for time of the loop, or of the thread that applies updates beside it.
  void charge_loop(const Principal& principal, std::int64_t took_us, std::int64_t now_us);
  /// Returns how long the principal must wait if its loop_ms_per_second is used up, else 0. The
  /// quota of one second may be taken at once.
  std::int64_t loop_wait_us(const Principal& principal, std::int64_t now_us);

 private:
  std::unordered_map<PrincipalId, Account> accounts_;
};

/// Returns the quota as the limit of a refusal, for example "quota.rows_per_second (1000)".
protocol::ReachedLimit reached_quota(std::string_view name, std::uint64_t value);

/// Returns whether the limit is from reached_quota.
bool is_quota(const protocol::ReachedLimit& limit);

/// Returns the end of a sentence that refuses a request because of a quota: what to do.
std::string quota_text(const Principal& principal, const protocol::ReachedLimit& quota);

/// Returns the principal's quota that rejects rows with `reason`. The name is empty if none does.
protocol::ReachedLimit reached_quota(protocol::RowReason reason, const Principal& principal);

}  // namespace starling::stream
