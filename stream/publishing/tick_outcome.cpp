// SPDX-License-Identifier: Apache-2.0
// Sums up a tick's report and hashes its messages: see tick_outcome.hpp.
#include "starling/stream/publishing/tick_outcome.hpp"

#include <span>

#include "starling/log/record.hpp"

namespace starling::stream {

TickOutcome outcome_of(const TickReport& report) {
  TickOutcome outcome{.done = {.tick = report.tick,
                               .tau_us = report.tau_us,
                               .object_count = report.objects,
                               .build_ms = report.times.build_ms,
                               .search_ms = report.times.search_ms,
                               .diff_ms = report.times.diff_ms},
                      .error = report.error};
  for (const StreamReport& stream : report.streams)
    for (const QueryReport& query : stream.queries)
      ++(query.event == ListEvent::removed ? outcome.done.removal_count : outcome.done.list_count);
  return outcome;
}

SequencedReply reply_to_tick(const TickOutcome& outcome) {
  if (outcome.error.empty()) return outcome.done;
  return protocol::ErrorReply{
      {protocol::ErrorCode::tick_failed,
       "The tick failed, and the lists of the tick before it stay valid: " + outcome.error,
       {}},
      0};
}

std::uint64_t hash_of(const std::vector<protocol::TickMessage>& messages) {
  std::uint64_t hash = 0;
  for (const protocol::TickMessage& message : messages) {
    hash = log::hash_bytes(std::as_bytes(std::span(message.topic)), hash);
    hash = log::hash_bytes(message.header.bytes(), hash);
    for (const protocol::Frame& chunk : message.chunks) hash = log::hash_bytes(chunk.bytes(), hash);
  }
  return hash;
}

}  // namespace starling::stream
