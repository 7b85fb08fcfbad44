// SPDX-License-Identifier: Apache-2.0
// Limits the lines of the audit log by who causes them, and counts the lines that are left out. A
// principal that connects again and again stays one principal. Audit calls it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "starling/stream/state/peer_buckets.hpp"

namespace starling::stream {

struct AuditLineLimits {
  /// The lines of one principal or address. Clients with unknown keys share one bucket.
  PeerBucketLimits of_one{.burst = 20, .interval_us = 1'000'000};
  /// The lines of all principals together, and those of all other clients together.
  PeerBucketLimits of_all{.burst = 8192, .interval_us = 50'000};
  std::int64_t report_us = 10'000'000;  ///< time from report to report of one principal
};

/// The caller guards against calls by several threads, and passes the time of the steady clock.
class AuditLines {
 public:
  struct Report {
    std::string principal;  ///< empty: all clients without a principal
    std::uint64_t lines = 0;
    std::int64_t since_us = 0;  ///< time of the first of these lines
  };

  explicit AuditLines(const AuditLineLimits& limits);

  /// Returns whether a line about the principal may be written. The first line of a principal that
  /// was quiet always may, so that others cannot hide it.
  bool take_of(const std::string& principal, std::int64_t now_us);
  /// The same for a client without a principal. `source` is its address, or empty if its key is
  /// unknown. Its first line may be left out if many addresses cause lines.
  bool take_of_stranger(std::string_view source, std::int64_t now_us);

  /// Returns what was left out for at least report_us, and counts anew. Forgets who was quiet. Call
  /// it about once a second.
  std::vector<Report> expire(std::int64_t now_us);
  /// Returns all that was left out and not reported. Call it at the end.
  std::vector<Report> rest() const;

  /// Returns the number of lines left out so far.
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct LeftOut {
    std::uint64_t lines = 0;
    std::int64_t since_us = 0;
  };
  struct Known {
    std::int64_t heard_us = 0;
    LeftOut left_out;
  };

  void leave_out(LeftOut& left_out, std::int64_t now_us);
  bool is_due(const LeftOut& left_out, std::int64_t now_us) const;

  AuditLineLimits limits_;
  PeerBuckets of_principals_;
  PeerBuckets of_strangers_;
  PeerBuckets of_all_;
  std::map<std::string, Known> principals_;  ///< bounded by the keys file's number of principals
  LeftOut strangers_;
  std::uint64_t left_out_ = 0;
};

}  // namespace starling::stream
