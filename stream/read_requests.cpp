// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler that read the tables page by page: streams, queries and objects.
// A page begins at a slot of its table, and ends after a bounded number of slots, so that no page
// keeps the loop for longer than about a millisecond. The server keeps nothing between two pages.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/limit_table.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

/// The most slots of queries that one page looks at.
constexpr std::size_t queries_walked_max = 8192;

/// A page of queries ends when its vectors have this many bytes.
constexpr std::size_t page_vector_bytes = std::size_t{1} << 20;

/// The arrays of an Objects reply.
struct ObjectArrays {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<double> positions;
  std::vector<std::uint32_t> tags;
  std::vector<std::string_view> names;
  std::vector<std::uint64_t> missing_ids;

  void add(const LiveObject& object, const std::optional<Position>& position,
           std::string_view name) {
    ids.push_back(to_number(object.id));
    times_us.push_back(object.time_us);
    if (position) positions.insert(positions.end(), position->begin(), position->end());
    tags.push_back(object.tags);
    names.push_back(name);
  }

  protocol::Objects page() const {
    const bool has_names = std::ranges::any_of(names, [](auto name) { return !name.empty(); });
    return {.ids = ids,
            .times_us = times_us,
            .positions = positions,
            .tags = tags,
            .names = has_names ? names : std::vector<std::string_view>{},
            .missing_ids = missing_ids};
  }
};

/// The slots that one page looks at, from the request's `page` on.
struct Walk {
  Walk(std::uint64_t page, std::size_t end_slot, std::size_t slots_max)
      : first(static_cast<std::size_t>(std::min<std::uint64_t>(page, end_slot))),
        next(first),
        page_end(std::min(end_slot, first + slots_max)),
        table_end(end_slot) {}

  std::size_t walked() const { return next - first; }
  std::uint64_t next_page() const { return next < table_end ? next : 0; }

  std::size_t first;
  std::size_t next;
  std::size_t page_end;
  std::size_t table_end;
};

/// Returns the number of streams that the principal may use.
std::size_t visible_streams(const QueryTable& queries, const Principal& principal) {
  if (principal.streams.empty()) return queries.stream_count();
  std::size_t count = 0;
  for (std::size_t number = 0; number < queries.stream_id_end(); ++number) {
    const auto id = static_cast<StreamId>(number);
    if (queries.is_live(id) && principal.may_use_stream(queries.stream(id).name)) ++count;
  }
  return count;
}

/// Returns the rest of the lease in milliseconds, at least 1; 0 if the query has no lease.
std::uint64_t lease_left_ms(const QueryDefinition& query, std::optional<std::int64_t> now_us) {
  if (query.lease_end_us == QueryDefinition::no_lease) return 0;
  constexpr std::int64_t us_per_ms = 1000;
  const std::int64_t left_us = now_us ? query.lease_end_us - *now_us : 0;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>((left_us + us_per_ms - 1) / us_per_ms, 1));
}

}  // namespace

/// Returns the most rows that a page may have. Returns 0, after a refusal, if the session has asked
/// for too many pages.
std::size_t RequestHandler::page_rows(const Caller& caller, std::uint32_t rows_max) {
  const std::int64_t wait_us = pages_.take(caller.head.session, parts_.executor.now_us());
  if (wait_us == 0) return rows_max == 0 ? options_.limits.page_rows_max : rows_max;
  auto limit = reached("session-pages-burst", options_);
  refuse(caller, {ErrorCode::busy,
                  "The session has asked for as many pages as " + to_string(limit) +
                      " allows; ask again in " + std::to_string(wait_us / 1000 + 1) + " ms.",
                  std::move(limit)});
  return 0;
}

void RequestHandler::list_streams(const Caller& caller, const protocol::ListStreams& request) {
  const std::size_t rows_max = page_rows(caller, request.rows_max);
  if (rows_max == 0) return;
  const std::int64_t since_us = parts_.executor.now_us();
  const QueryTable& queries = parts_.tables.settled().queries();
  const Tick last_tick = parts_.tables.settled().last_tick();
  const Principal& principal = *caller.principal;
  protocol::Streams reply{.epoch = parts_.publisher.epoch(),
                          .stream_count = visible_streams(queries, principal),
                          .streams = {}};
  Walk walk(request.page, queries.stream_id_end(), queries_walked_max);
  for (; walk.next < walk.page_end && reply.streams.size() < rows_max; ++walk.next) {
    const auto id = static_cast<StreamId>(walk.next);
    if (!queries.is_live(id)) continue;
    const StreamDefinition& stream = queries.stream(id);
    if (!principal.may_use_stream(stream.name)) continue;
    reply.streams.push_back(
        {.name = stream.name,
         .on = stream.on,
         .with = stream.with,
         .query_count = queries.query_count(id),
         .subscription_count = parts_.subscription_count(protocol::topic_of(stream.name)),
         .sequence = parts_.publisher.sequence(id, last_tick)});
  }
  reply.next_page = walk.next_page();
  parts_.send(caller.peer, protocol::encode_streams(caller.reply_head(), reply));
  parts_.metrics.page_read(walk.walked(), parts_.executor.ms_since(since_us));
}

void RequestHandler::list_queries(const Caller& caller, const protocol::ListQueries& request) {
  const QueryTable& queries = parts_.tables.settled().queries();
  const auto stream = queries.find_stream(request.stream);
  if (!stream) return refuse(caller, unknown_stream(request.stream).problem);
  const std::size_t rows_max = page_rows(caller, request.rows_max);
  if (rows_max == 0) return;
  const std::int64_t since_us = parts_.executor.now_us();
  const auto now_us = parts_.time.base_us();
  protocol::Queries reply{.epoch = parts_.publisher.epoch(),
                          .query_count = queries.query_count(*stream),
                          .queries = {}};
  std::size_t vector_bytes = 0;
  Walk walk(request.page, queries.slot_end(), queries_walked_max);
  for (; walk.next < walk.page_end && reply.queries.size() < rows_max &&
         vector_bytes < page_vector_bytes;
       ++walk.next) {
    const auto slot = static_cast<Slot>(walk.next);
    if (!queries.is_live(slot) || queries.stream_of(slot) != *stream) continue;
    const QueryDefinition& query = queries.definition_of(slot);
    reply.queries.push_back(parts_.space.spec_of(query));
    reply.queries.back().lease_ms = lease_left_ms(query, now_us);
    vector_bytes += query.components.size() * sizeof(float);
  }
  reply.next_page = walk.next_page();
  parts_.send(caller.peer, protocol::encode_queries(caller.reply_head(), reply));
  parts_.metrics.page_read(walk.walked(), parts_.executor.ms_since(since_us));
}

void RequestHandler::get_objects(const Caller& caller, const protocol::GetObjects& request) {
  const std::size_t rows_max = page_rows(caller, request.rows_max);
  if (rows_max == 0) return;
  const std::int64_t since_us = parts_.executor.now_us();
  const ObjectTable& objects = parts_.tables.settled().objects();
  ObjectArrays arrays;
  std::size_t walked = request.object_ids.size();
  std::uint64_t next_page = 0;
  for (const std::uint64_t id : request.object_ids)
    if (const Slot slot = objects.find(ObjectId{id}); slot != no_slot && objects.is_alive(slot)) {
      const LiveObject object = objects.object_at(slot);
      arrays.add(object, parts_.space.position_of(object.position),
                 parts_.tables.names().find(object.id));
    } else {
      arrays.missing_ids.push_back(id);
    }
  if (request.rectangle) {
    const LatticeRectangle rectangle = parts_.space.on_lattice(*request.rectangle);
    Walk walk(request.page, objects.slot_end(), parts_.space.objects_walked_max());
    for (; walk.next < walk.page_end && arrays.ids.size() < rows_max; ++walk.next) {
      const auto slot = static_cast<Slot>(walk.next);
      if (!objects.is_alive(slot)) continue;
      const LiveObject object = objects.object_at(slot);
      if (const auto position = rectangle.position_in(object.position))
        arrays.add(object, position, parts_.tables.names().find(object.id));
    }
    walked = walk.walked();
    next_page = walk.next_page();
  }
  protocol::Objects reply = arrays.page();
  reply.epoch = parts_.publisher.epoch();
  reply.next_page = next_page;
  reply.object_count = objects.alive_count();
  parts_.send(caller.peer, protocol::encode_objects(caller.reply_head(), reply));
  parts_.metrics.page_read(walked, parts_.executor.ms_since(since_us));
}

}  // namespace starling::stream
