// SPDX-License-Identifier: Apache-2.0
// Sends rows in batches within the server's limits and turns ticks and snapshots into changed
// lists: see server_host.hpp.
#include "starling/sim/host/server_host.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "starling/knn/base/clocks.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {
namespace {

/// Calls `post` with consecutive parts of `rows`, each of at most `rows_max` rows.
template <class Row, class Post>
void in_batches(std::span<const Row> rows, std::size_t rows_max, const Post& post) {
  for (; !rows.empty(); rows = rows.subspan(std::min(rows_max, rows.size())))
    post(rows.first(std::min(rows_max, rows.size())));
}

/// Returns true if a stream with the setting `on` would report a change from `left` to `right`.
bool differ(const protocol::HeldList& left, const protocol::HeldList& right, ReportOn on) {
  if (on == ReportOn::distance) return left.neighbors != right.neighbors;
  const auto objects = [on](const protocol::HeldList& list) {
    std::vector<ObjectId> ids;
    ids.reserve(list.neighbors.size());
    for (const protocol::HeldNeighbor& neighbor : list.neighbors) ids.push_back(neighbor.object);
    if (on == ReportOn::membership) std::ranges::sort(ids);
    return ids;
  };
  return objects(left) != objects(right);
}

/// Connects to the server. If the server ticks by itself, throws UsageError for the flag --connect.
protocol::ManualServer connect(zmq::context_t& context,
                               const protocol::ManualServerOptions& options,
                               const std::string& purpose) {
  try {
    return protocol::ManualServer(context, options, purpose);
  } catch (const protocol::NotManualError& error) {
    throw UsageError(std::string("--connect: ") + error.what());
  }
}

}  // namespace

ServerHost::ServerHost(zmq::context_t& context, const protocol::ManualServerOptions& options,
                       const std::string& purpose)
    : description_("the server at " + options.commands),
      server_(connect(context, options, purpose)) {}

ServerHost::~ServerHost() = default;

void ServerHost::put_names(const NameTable& names, const std::string& what) {
  const std::size_t rows_max = server_.batch_rows_max(server_.terms().limits.text_bytes_max + 32);
  std::vector<std::uint64_t> ids;
  protocol::PutNames batch;
  const auto post_batch = [&] {
    batch.ids = ids;
    if (!ids.empty()) server_.post(batch);
    ids.clear();
    batch.texts.clear();
  };
  for (const auto& [id, text] : names.texts()) {
    if (text.empty()) continue;
    ids.push_back(id);
    batch.texts.push_back(text);
    if (ids.size() == rows_max) post_batch();
  }
  post_batch();
  server_.expect_all_accepted(what);
}

void ServerHost::learn_names(const protocol::ListStore& lists, NameTable& object_names) {
  const std::size_t asked_max = server_.terms().limits.names_asked_max;
  if (asked_max == 0) return;
  std::unordered_set<std::uint64_t> unknown;
  const auto want = [&](ObjectId object) {
    if (!object_names.texts().contains(to_number(object))) unknown.insert(to_number(object));
  };
  for (const auto& [key, list] : lists) {
    if (key.has_subject) want(key.subject);
    for (const protocol::HeldNeighbor& neighbor : list.neighbors) want(neighbor.object);
  }
  const std::vector<std::uint64_t> ids(unknown.begin(), unknown.end());
  in_batches(std::span(ids), asked_max, [&](std::span<const std::uint64_t> asked) {
    const protocol::NameAnswers names = server_.client().get_names(asked).value();
    for (std::size_t at = 0; at < asked.size(); ++at) object_names.put(asked[at], names.texts[at]);
  });
}

protocol::ListStore ServerHost::open(const HostStream& stream) {
  stream_ = stream;
  for (const QueryId query : stream_.queries) query_ids_.insert(to_number(query));
  server_.client().put_stream({stream_.name, stream_.on, {}}).value();
  if (!stream_.wants_lists) return {};
  follow();
  return server_.state().lists();
}

void ServerHost::follow() {
  protocol::SubscriptionOptions subscription;
  subscription.stream = stream_.name;
  subscription.query_ids.assign(query_ids_.begin(), query_ids_.end());
  protocol::SubscriptionHandlers handlers;
  handlers.applied = [this](const protocol::DecodedTick& tick) { report_tick(tick); };
  handlers.replaced = [this](const protocol::HeldAt&) { report_snapshot(); };
  handlers.lost = [this](std::uint64_t ticks) { ticks_lost_ += ticks; };
  server_.follow(subscription, handlers);
}

void ServerHost::put_objects(std::span<const TraceRow> rows) {
  const std::size_t rows_max = server_.batch_rows_max(protocol::ManualServer::row_bytes);
  while (!rows.empty()) {
    std::size_t count = 1;  // in a batch, either all rows have tags or none has
    while (count < std::min(rows_max, rows.size()) && rows[count].has_tags == rows[0].has_tags)
      ++count;
    post_objects(rows.first(count));
    rows = rows.subspan(count);
  }
}

void ServerHost::post_objects(std::span<const TraceRow> rows) {
  const auto components = static_cast<std::size_t>(dimensions(space().space));
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<double> coordinates;
  std::vector<std::uint32_t> tags;
  ids.reserve(rows.size());
  times_us.reserve(rows.size());
  coordinates.reserve(rows.size() * components);
  for (const TraceRow& row : rows) {
    ids.push_back(to_number(row.id));
    times_us.push_back(row.time_us);
    coordinates.insert(coordinates.end(), row.position.begin(),
                       row.position.begin() + static_cast<std::ptrdiff_t>(components));
    if (row.has_tags) tags.push_back(row.tags);
  }
  protocol::UpdateBatch batch;
  batch.ids = ids;
  batch.times_us = times_us;
  batch.components = static_cast<std::uint8_t>(components);
  batch.coordinates = coordinates;
  batch.tags = tags;
  server_.post(batch);
}

void ServerHost::put_tags(std::span<const TagUpdate> rows) {
  const std::size_t rows_max = server_.batch_rows_max(protocol::ManualServer::row_bytes);
  in_batches(rows, rows_max, [&](std::span<const TagUpdate> part) {
    std::vector<std::uint64_t> ids;
    std::vector<std::int64_t> times_us;
    std::vector<std::uint32_t> set;
    std::vector<std::uint32_t> clear;
    for (const TagUpdate& row : part) {
      ids.push_back(to_number(row.id));
      times_us.push_back(row.time_us);
      set.push_back(row.set);
      clear.push_back(row.clear);
    }
    server_.post(protocol::UpdateTags{ids, times_us, set, clear});
  });
}

void ServerHost::remove_objects(std::span<const ObjectRemoval> rows) {
  const std::size_t rows_max = server_.batch_rows_max(protocol::ManualServer::row_bytes);
  in_batches(rows, rows_max, [&](std::span<const ObjectRemoval> part) {
    std::vector<std::uint64_t> ids;
    std::vector<std::int64_t> times_us;
    for (const ObjectRemoval& row : part) {
      ids.push_back(to_number(row.id));
      times_us.push_back(row.time_us);
    }
    server_.post(protocol::RemoveObjects{ids, times_us});
  });
}

void ServerHost::put_queries(std::span<const protocol::QuerySpec> queries) {
  const std::size_t rows_max = server_.batch_rows_max(protocol::ManualServer::query_bytes);
  in_batches(queries, rows_max, [&](std::span<const protocol::QuerySpec> part) {
    server_.post(protocol::PutQueries{stream_.name, {part.begin(), part.end()}});
  });
}

void ServerHost::remove_queries(std::span<const QueryId> queries) {
  const std::size_t rows_max = server_.batch_rows_max(protocol::ManualServer::row_bytes);
  in_batches(queries, rows_max, [&](std::span<const QueryId> part) {
    std::vector<std::uint64_t> ids;
    for (const QueryId query : part) ids.push_back(to_number(query));
    server_.post(protocol::RemoveQueries{stream_.name, ids});
  });
}

RowCounts ServerHost::settle() {
  const protocol::BatchTotals totals = server_.client().flush();
  if (totals.first_refusal) throw protocol::RefusedError(*totals.first_refusal);
  return {totals.accepted, totals.late, totals.rejected};
}

void ServerHost::settle_all(const std::string& what) {
  server_.expect_all_accepted(what);
}

FinishedTick ServerHost::advance(std::int64_t tau_us, const ListHandler& on_list) {
  Stopwatch watch;
  begin(tau_us);
  FinishedTick tick = finish(on_list);
  tick.wall_ms = watch.lap_ms();
  return tick;
}

void ServerHost::begin(std::int64_t tau_us) {
  if (is_under_way_) {
    TakenTick& taken = taken_.emplace_back();
    taken.tick = take_tick([&](const protocol::ListKey& key, ListEvent event,
                               std::span<const protocol::HeldNeighbor> neighbors) {
      taken.changes.push_back({key, event, {neighbors.begin(), neighbors.end()}});
    });
  }
  if (const auto problem = server_.client().begin_tick(tau_us))
    throw protocol::RefusedError(*problem);
  is_under_way_ = true;
}

FinishedTick ServerHost::finish(const ListHandler& on_list) {
  if (taken_.empty()) return take_tick(on_list);
  const TakenTick taken = std::move(taken_.front());
  taken_.pop_front();
  if (on_list)
    for (const Change& change : taken.changes) on_list(change.key, change.event, change.neighbors);
  return taken.tick;
}

FinishedTick ServerHost::take_tick(const ListHandler& on_list) {
  on_list_ = on_list ? &on_list : nullptr;
  is_under_way_ = false;
  const protocol::TickDone done = server_.client().finish_tick().value();
  if (stream_.wants_lists) {
    server_.await_lists(done.tick, [this] { before_ = server_.state().lists(); });
    before_.reset();
  }
  on_list_ = nullptr;
  if (ticks_lost_ > 0)
    throw std::runtime_error(std::to_string(ticks_lost_) +
                             " ticks were lost on the way from the server; start it with a larger "
                             "--subscriber-ticks-max");
  return {done.tick,
          done.tau_us,
          done.object_count,
          {.build_ms = done.build_ms, .search_ms = done.search_ms, .diff_ms = done.diff_ms},
          done.build_ms + done.search_ms + done.diff_ms};
}

void ServerHost::report_tick(const protocol::DecodedTick& tick) {
  for (const ListEvent event : {ListEvent::removed, ListEvent::updated})
    for (const protocol::ListChunk& chunk : tick.chunks)
      for (std::size_t list = 0; list < chunk.list_count(); ++list) {
        const bool is_wanted = query_ids_.empty() || query_ids_.contains(chunk.query_ids[list]);
        if (is_wanted && chunk.event_of(list) == event)
          report(protocol::key_of(chunk, list), event, protocol::list_of(chunk, list));
      }
}

// A tick's message was lost, and a snapshot replaced the lists. The lists that the lost message
// would have reported are exactly those that now differ from before_.
void ServerHost::report_snapshot() {
  if (!before_) return;
  const protocol::ListStore& now = server_.state().lists();
  for (const auto& [key, list] : *before_)
    if (!now.contains(key)) report(key, ListEvent::removed, {});
  for (const auto& [key, list] : now) {
    const auto before = before_->find(key);
    if (before == before_->end() || differ(before->second, list, stream_.on))
      report(key, ListEvent::updated, list);
  }
}

void ServerHost::report(const protocol::ListKey& key, ListEvent event,
                        const protocol::HeldList& list) {
  if (on_list_ != nullptr) (*on_list_)(key, event, list.neighbors);
}

}  // namespace starling::sim
