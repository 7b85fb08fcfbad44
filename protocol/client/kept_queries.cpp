// SPDX-License-Identifier: Apache-2.0
// Keeps what was put, and puts it again in batches that the server's limits allow: see
// kept_queries.hpp.
#include "starling/protocol/client/kept_queries.hpp"

#include <cstddef>
#include <vector>

#include "starling/protocol/client/rows_at_once.hpp"

namespace starling::protocol {

void KeptQueries::put_stream(const PutStream& stream) {
  Stream& kept = streams_[std::string(stream.name)];
  kept.on = stream.on;
  kept.with = stream.with;
}

void KeptQueries::remove_stream(const std::string& name) {
  streams_.erase(name);
}

void KeptQueries::put_queries(const PutQueries& request, Clock::time_point now) {
  const auto stream = streams_.find(std::string(request.stream));
  // If another client has put the stream, its settings are not known here, so the query is not
  // kept.
  if (stream == streams_.end()) return;
  for (const QuerySpec& query : request.queries)
    stream->second.queries[to_number(query.id)] = {query, now};
}

void KeptQueries::remove_queries(const RemoveQueries& request) {
  const auto stream = streams_.find(std::string(request.stream));
  if (stream == streams_.end()) return;
  for (const std::uint64_t id : request.ids) stream->second.queries.erase(id);
}

void KeptQueries::put_names(const PutNames& request) {
  for (std::size_t i = 0; i < request.ids.size(); ++i)
    names_.emplace(request.ids[i], request.texts[i]);
}

void KeptQueries::put_again(Client& client, Clock::time_point now) {
  put_names_again(client);
  for (auto& [name, stream] : streams_) {
    std::erase_if(stream.queries, [&](const auto& entry) {
      const Kept& kept = entry.second;
      return kept.query.lease_ms != 0 &&
             now - kept.since >= std::chrono::milliseconds(kept.query.lease_ms);
    });
    client.put_stream({.name = name, .on = stream.on, .with = stream.with}).value();
    put_queries_again(client, name, stream);
  }
}

void KeptQueries::put_names_again(Client& client) const {
  const std::size_t at_once = names_at_once(client.server().limits);
  std::vector<std::uint64_t> ids;
  PutNames request;
  const auto put = [&] {
    request.ids = ids;
    if (!ids.empty()) client.put_names(request).value();
    ids.clear();
    request.texts.clear();
  };
  for (const auto& [id, text] : names_) {
    ids.push_back(id);
    request.texts.emplace_back(text);
    if (ids.size() == at_once) put();
  }
  put();
}

void KeptQueries::put_queries_again(Client& client, const std::string& name, const Stream& stream) {
  const std::size_t at_once = queries_at_once(client.server().limits);
  PutQueries request{.stream = name, .queries = {}};
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

}  // namespace starling::protocol
