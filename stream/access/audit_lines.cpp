// SPDX-License-Identifier: Apache-2.0
// Takes a token for each line from the bucket of its cause and from that of all: see
// audit_lines.hpp.
#include "starling/stream/access/audit_lines.hpp"

#include <functional>
#include <utility>

namespace starling::stream {
namespace {

// The buckets that all principals share, and that all other clients share.
constexpr std::uint64_t all_principals = 0;
constexpr std::uint64_t all_strangers = 1;

}  // namespace

AuditLines::AuditLines(const AuditLineLimits& limits)
    : limits_(limits),
      of_principals_(limits.of_one),
      of_strangers_(limits.of_one),
      of_all_(limits.of_all) {}

bool AuditLines::take_of(const std::string& principal, std::int64_t now_us) {
  const auto [known, is_first] = principals_.try_emplace(principal);
  known->second.heard_us = now_us;
  const std::uint64_t bucket = std::hash<std::string_view>()(principal);
  if (of_principals_.has_token(bucket, now_us) &&
      (of_all_.take(all_principals, now_us) || is_first))
    return of_principals_.take(bucket, now_us);
  leave_out(known->second.left_out, now_us);
  return false;
}

bool AuditLines::take_of_stranger(std::string_view source, std::int64_t now_us) {
  const std::uint64_t bucket = std::hash<std::string_view>()(source);
  if (of_strangers_.has_token(bucket, now_us) && of_all_.take(all_strangers, now_us))
    return of_strangers_.take(bucket, now_us);
  leave_out(strangers_, now_us);
  return false;
}

void AuditLines::leave_out(LeftOut& left_out, std::int64_t now_us) {
  if (left_out.lines++ == 0) left_out.since_us = now_us;
  ++left_out_;
}

bool AuditLines::is_due(const LeftOut& left_out, std::int64_t now_us) const {
  return left_out.lines > 0 && now_us - left_out.since_us >= limits_.report_us;
}

std::vector<AuditLines::Report> AuditLines::expire(std::int64_t now_us) {
  for (PeerBuckets* const buckets : {&of_principals_, &of_strangers_, &of_all_})
    buckets->expire(now_us);
  std::vector<Report> reports;
  const auto report = [&](const std::string& principal, LeftOut& left_out) {
    if (!is_due(left_out, now_us)) return;
    const LeftOut due = std::exchange(left_out, {});
    reports.push_back({principal, due.lines, due.since_us});
  };
  report("", strangers_);
  for (auto& [principal, known] : principals_) report(principal, known.left_out);
  std::erase_if(principals_, [&](const auto& each) {
    return each.second.left_out.lines == 0 && now_us - each.second.heard_us >= limits_.report_us;
  });
  return reports;
}

std::vector<AuditLines::Report> AuditLines::rest() const {
  std::vector<Report> reports;
  if (strangers_.lines > 0) reports.push_back({"", strangers_.lines, strangers_.since_us});
  for (const auto& [principal, known] : principals_)
    if (known.left_out.lines > 0)
      reports.push_back({principal, known.left_out.lines, known.left_out.since_us});
  return reports;
}

}  // namespace starling::stream
