// SPDX-License-Identifier: Apache-2.0
// Draws the kind and the rows of each request: see random_requests.hpp.
#include "tests/stream/journal/random_requests.hpp"

#include <stdexcept>
#include <utility>

#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/journal/told_state.hpp"

namespace starling::stream {

protocol::RequestBody OwnedRequest::body() const {
  switch (kind) {
    case Kind::objects:
      return protocol::UpdateBatch{
          .ids = ids,
          .times_us = times_us,
          .components = static_cast<std::uint8_t>(ids.empty() ? 2 : places.size() / ids.size()),
          .coordinates = places,
          .tags = tags,
          .row_columns = row_columns};
    case Kind::tags:
      return protocol::UpdateTags{ids, times_us, tags, cleared};
    case Kind::removals:
      return protocol::RemoveObjects{ids, times_us};
    case Kind::names:
      return protocol::PutNames{ids, {texts.begin(), texts.end()}};
    case Kind::stream:
      return protocol::PutStream{.name = stream, .on = on, .with = with};
    case Kind::stream_removal:
      return protocol::RemoveStream{stream};
    case Kind::queries:
      return protocol::PutQueries{stream, queries};
    case Kind::query_removals:
      return protocol::RemoveQueries{stream, ids};
    case Kind::tick:
      return protocol::AdvanceTick{tau_us};
  }
  throw std::logic_error("a request of no kind");
}

OwnedRequest RandomRequests::next() {
  using Kind = OwnedRequest::Kind;
  const std::uint64_t choice = random_.below(20);
  if (choice < 6) return rows(Kind::objects, 12);
  if (choice < 8) return rows(Kind::tags, 6);
  if (choice < 9) return rows(Kind::removals, 4);
  if (choice < 10) return rows(Kind::names, 2);
  if (choice < 12)
    return {.kind = Kind::stream,
            .stream = any_stream(),
            .on = static_cast<ReportOn>(random_.below(3)),
            .with = {.distance = random_.chance(0.8),
                     .position = random_.chance(0.3),
                     .tags = random_.chance(0.3)}};
  if (choice < 13) return {.kind = Kind::stream_removal, .stream = any_stream()};
  if (choice < 15) return some_queries();
  if (choice < 16)
    return {.kind = Kind::query_removals,
            .ids = {random_.below(8), random_.below(8)},
            .stream = any_stream()};
  return tick();
}

OwnedRequest RandomRequests::tick() {
  tau_us_ += static_cast<std::int64_t>(random_.below(2000));
  return {.kind = OwnedRequest::Kind::tick, .tau_us = tau_us_};
}

OwnedRequest RandomRequests::rows(OwnedRequest::Kind kind, std::uint64_t count_max) {
  OwnedRequest made{.kind = kind};
  const bool has_tags = random_.chance(0.5);
  const bool is_mixed = kind == OwnedRequest::Kind::objects && random_.chance(0.3);
  for (std::uint64_t i = 1 + random_.below(count_max); i > 0; --i) {
    if (kind == OwnedRequest::Kind::names) {
      made.texts.push_back(told_name(random_.below(told_names)));
      const ObjectId id = protocol::id_of_text(made.texts.back());
      made.ids.push_back(to_number(id) + random_.below(2));  // half of them are refused
      continue;
    }
    made.ids.push_back(random_.below(objects));
    made.times_us.push_back(tau_us_ - static_cast<std::int64_t>(random_.below(3000)));
    if (kind == OwnedRequest::Kind::objects) {
      made.places.push_back(random_.chance(0.03) ? 1e300 : place());
      made.places.push_back(place());
    }
    const bool may_have_tags =
        kind == OwnedRequest::Kind::tags || (is_mixed ? random_.chance(0.5) : has_tags);
    if (is_mixed) made.row_columns.push_back(may_have_tags ? protocol::tags_column : 0);
    if (may_have_tags) made.tags.push_back(static_cast<std::uint32_t>(random_.below(4)));
    if (kind == OwnedRequest::Kind::tags)
      made.cleared.push_back(static_cast<std::uint32_t>(random_.below(4)));
  }
  return made;
}

OwnedRequest RandomRequests::some_queries() {
  OwnedRequest made{.kind = OwnedRequest::Kind::queries, .stream = any_stream()};
  for (std::uint64_t i = 1 + random_.below(4); i > 0; --i) {
    protocol::QuerySpec query;
    query.id = QueryId{random_.below(8)};
    query.k = 1 + static_cast<std::uint32_t>(random_.below(5));
    query.position = {place(), place(), 0};
    if (random_.chance(0.3)) {
      query.anchor = AnchorKind::follow;
      query.object = ObjectId{random_.below(objects)};
    } else if (random_.chance(0.1)) {
      query.anchor = AnchorKind::every_object;
    }
    if (random_.chance(0.3)) query.tags.required = 2;
    if (random_.chance(0.4)) query.lease_ms = 1 + random_.below(6);
    made.queries.push_back(std::move(query));
  }
  return made;
}

void set_small_tables(ServerOptions& options) {
  options.processor.objects.objects_max = 256;
  options.processor.objects.object_ttl_us = 20'000;
  options.processor.objects.tombstone_ttl_us = 5000;
  options.processor.queries.queries_max = 256;
  options.processor.queries.neighbors_max = 3000;
  options.snapshots.burst = 1'000'000;  // tests read many snapshots
  options.pages.burst = 1'000'000;
  options.update_threads = 1;
  options.encode_threads = 1;
}

}  // namespace starling::stream
