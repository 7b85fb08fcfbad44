// SPDX-License-Identifier: Apache-2.0
// Draws the kind and the contents of each request: see simulated_requests.hpp.
#include "tests/server_simulation/simulated_requests.hpp"

namespace starling::simulation {

using stream::OwnedRequest;

std::int64_t SimulatedRequests::time_us() {
  const std::int64_t now_us = options_.has_manual_ticks ? world_.now_us() : world_.wall_us();
  return now_us - static_cast<std::int64_t>(world_.random().below(50'000));
}

double SimulatedRequests::place() {
  return static_cast<double>(world_.random().between(-60, 60)) * metres_per_unit;
}

OwnedRequest SimulatedRequests::next() {
  using Kind = OwnedRequest::Kind;
  if (new_streams_ < streams) return a_stream(new_streams_++);
  const std::uint64_t choice = world_.random().below(20);
  // Some requests are so long that a worker thread decodes them.
  if (choice < 8) return rows(Kind::objects, world_.random().chance(0.1) ? 400 : 8);
  if (choice < 10 && options_.may_tag) return rows(Kind::tags, 4);
  if (choice < 11) return rows(Kind::removals, 3);
  if (choice < 12) return a_stream(world_.random().below(streams));
  if (choice < 13 && world_.random().chance(0.4))
    return {.kind = Kind::stream_removal, .stream = stream_name(streams - 1)};
  if (choice < 15) return some_queries();
  if (choice < 16)
    return {.kind = Kind::query_removals,
            .ids = {world_.random().below(queries), world_.random().below(queries)},
            .stream = stream_name(world_.random().below(streams))};
  if (options_.has_manual_ticks && options_.may_tick) return tick();
  return rows(Kind::objects, 3);
}

OwnedRequest SimulatedRequests::a_stream(std::uint64_t number) {
  return {.kind = OwnedRequest::Kind::stream,
          .stream = stream_name(number),
          .on = number == 0 ? ReportOn::distance : ReportOn::membership,
          .with = {.distance = true, .position = number == 1, .tags = number == 1}};
}

OwnedRequest SimulatedRequests::tick() {
  return {.kind = OwnedRequest::Kind::tick, .tau_us = world_.now_us()};
}

protocol::QuerySpec SimulatedRequests::question() {
  constexpr std::uint64_t never_put = 4;
  protocol::QuerySpec question = around_place();
  if (world_.random().chance(0.4)) {
    question.anchor = AnchorKind::follow;
    question.position = {};
    question.object = ObjectId{world_.random().below(objects + never_put)};
  }
  return question;
}

protocol::QuerySpec SimulatedRequests::around_place() {
  protocol::QuerySpec question;
  question.k = 1 + static_cast<std::uint32_t>(world_.random().below(8));
  question.position = {place(), place(), options_.components == 3 ? place() : 0};
  return question;
}

OwnedRequest SimulatedRequests::long_batch() {
  return rows(OwnedRequest::Kind::objects, 400);
}

OwnedRequest SimulatedRequests::rows(OwnedRequest::Kind kind, std::uint64_t count_max) {
  OwnedRequest made{.kind = kind};
  const bool has_tags = kind == OwnedRequest::Kind::objects && world_.random().chance(0.5);
  for (std::uint64_t i = 1 + world_.random().below(count_max); i > 0; --i) {
    made.ids.push_back(world_.random().below(objects));
    made.times_us.push_back(time_us());
    if (kind == OwnedRequest::Kind::objects) {
      for (std::size_t axis = 0; axis < options_.components; ++axis) made.places.push_back(place());
    }
    if (has_tags || kind == OwnedRequest::Kind::tags)
      made.tags.push_back(static_cast<std::uint32_t>(world_.random().below(4)));
    if (kind == OwnedRequest::Kind::tags)
      made.cleared.push_back(static_cast<std::uint32_t>(world_.random().below(4)));
  }
  return made;
}

OwnedRequest SimulatedRequests::some_queries() {
  OwnedRequest made{.kind = OwnedRequest::Kind::queries,
                    .stream = stream_name(world_.random().below(streams))};
  for (std::uint64_t i = 1 + world_.random().below(3); i > 0; --i) {
    protocol::QuerySpec query = around_place();
    query.id = QueryId{world_.random().below(queries)};
    if (world_.random().chance(0.3)) {
      query.anchor = AnchorKind::follow;
      query.position = {};
      query.object = ObjectId{world_.random().below(objects)};
    } else if (world_.random().chance(0.1)) {
      query.anchor = AnchorKind::every_object;
      query.position = {};
      query.k = 2;
    }
    if (world_.random().chance(0.3)) query.tags.required = 2;
    if (options_.has_manual_ticks && world_.random().chance(0.3))
      query.lease_ms = 1 + world_.random().below(300);
    made.queries.push_back(std::move(query));
  }
  return made;
}

}  // namespace starling::simulation
