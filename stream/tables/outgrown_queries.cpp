// SPDX-License-Identifier: Apache-2.0
// Asks for quotas and memory, and limits the sentences about removed queries: see
// outgrown_queries.hpp.
#include "starling/stream/tables/outgrown_queries.hpp"

#include <utility>

#include <spdlog/spdlog.h>

#include "starling/knn/base/json_text.hpp"
#include "starling/knn/base/plain_text.hpp"

namespace starling::stream {

std::vector<OutgrownQuery> OutgrownQueries::remove_some(Tick tick) {
  growth_.limit_lists_if_grown();
  auto removed = processor_.remove_outgrown(options_.quotas, queries_at_once);
  for (const OutgrownQuery& query : removed) tell(tick, query);
  return removed;
}

/// Writes a sentence about the query. With many queries, names a few and counts the others.
void OutgrownQueries::tell(Tick tick, const OutgrownQuery& removed) {
  constexpr std::uint64_t named_max = 8;
  constexpr std::int64_t pause_us = 10'000'000;
  const std::int64_t now_us = executor_.now_us();
  if (now_us - told_us_ > pause_us) {
    told_us_ = now_us;
    told_ = 0;
    if (untold_ > 0)
      spdlog::warn("{} more every-object queries were removed", std::exchange(untold_, 0));
  }
  if (told_ == named_max) {
    ++untold_;
    return;
  }
  ++told_;
  std::string stream;
  append_json_string(stream, processor_.queries().stream(removed.stream).name);
  const std::uint64_t objects = processor_.objects().alive_count();
  spdlog::warn(
      "tick {} removes the every-object query {} of stream {}, which {} has put: its lists would "
      "hold {} neighbours of each of {} objects, {} in all, and {}",
      to_number(tick), to_number(removed.id), stream,
      options_.owner_text ? options_.owner_text(removed.owner) : "a session", removed.k, objects,
      removed.k * objects, reason_of(removed));
}

std::string OutgrownQueries::reason_of(const OutgrownQuery& removed) const {
  switch (removed.limit) {
    case OutgrownQuery::Limit::of_owner:
      return "the quota.neighbors of its owner is less; put it again with a smaller k, or raise "
             "the quota in the keys file";
    case OutgrownQuery::Limit::of_table:
      return "all lists together more than --neighbors-max allows (" +
             std::to_string(processor_.options().queries.neighbors_max) +
             "); put it again with a smaller k, or raise the limit";
    case OutgrownQuery::Limit::memory:
      return "--memory-bytes-max (" + std::string(bytes_text(growth_.bytes_max())) +
             ") leaves too little memory; put it again with a smaller k, or give the server more "
             "memory";
  }
  return {};
}

}  // namespace starling::stream
