// SPDX-License-Identifier: Apache-2.0
// See kept_queries.hpp.
#include "starling/clients/c/kept_queries.hpp"

#include <utility>

namespace starling::c {

void KeptQueries::put_stream(const protocol::PutStream& stream) {
  Stream& kept = streams_[std::string(stream.name)];
  kept.on = stream.on;
  kept.with = stream.with;
}

void KeptQueries::remove_stream(const std::string& name) {
  streams_.erase(name);
}

void KeptQueries::put_queries(const protocol::PutQueries& request, Clock::time_point now) {
  const auto stream = streams_.find(std::string(request.stream));
  // A query of another client's stream is kept without the stream.
  if (stream == streams_.end()) return;
  for (const protocol::QuerySpec& query : request.queries)
    stream->second.queries[to_number(query.id)] = {query, now};
}

void KeptQueries::remove_queries(const protocol::RemoveQueries& request) {
  const auto stream = streams_.find(std::string(request.stream));
  if (stream == streams_.end()) return;
  for (const std::uint64_t id : request.ids) stream->second.queries.erase(id);
}

void KeptQueries::put_again(protocol::Client& client, Clock::time_point now) {
  const std::size_t at_once = client.server().limits.rows_max;
  for (auto& [name, stream] : streams_) {
    client.put_stream({.name = name, .on = stream.on, .with = stream.with}).value();
    std::erase_if(stream.queries, [&](const auto& entry) {
      const Kept& kept = entry.second;
      return kept.query.lease_ms != 0 &&
             now - kept.since >= std::chrono::milliseconds(kept.query.lease_ms);
    });
    protocol::PutQueries request{.stream = name, .queries = {}};
    const auto put = [&] {
      if (!request.queries.empty()) client.put_queries(request).value();
      request.queries.clear();
    };
    for (const auto& [id, kept] : stream.queries) {
      request.queries.push_back(kept.query);
      if (request.queries.size() == at_once) put();
    }
    put();
  }
}

}  // namespace starling::c
