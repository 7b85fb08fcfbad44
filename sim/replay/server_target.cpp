// A replay as a client of a server: see server_target.hpp.
#include "sim/replay/server_target.hpp"

#include <algorithm>
#include <stdexcept>

namespace starling::sim {
namespace {

/// Whether a stream that reports `on` this tells one list from the other.
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

}  // namespace

ServerTarget::ServerTarget(zmq::context_t& context, const ManualServerOptions& options, Lists lists)
    : server_(context, options, "replay"), wanted_(lists) {}

ServerTarget::~ServerTarget() = default;

void ServerTarget::start(const ReplaySetup& setup, const NameTable& object_names,
                         const NameTable& query_names) {
  on_ = setup.on;
  put_names(object_names, "objects' names");
  put_names(query_names, "queries' names");
  server_.client().put_stream({setup.stream, setup.on, {}}).value();
  if (wanted_ == Lists::wanted) follow(setup);
  put_queries(setup);
}

void ServerTarget::put_names(const NameTable& names, const char* what) {
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

void ServerTarget::learn_names(const protocol::ListStore& lists, NameTable& object_names) {
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
  for (std::size_t first = 0; first < ids.size(); first += asked_max) {
    const auto asked = std::span(ids).subspan(first, std::min(asked_max, ids.size() - first));
    const protocol::NameAnswers names = server_.client().get_names(asked).value();
    for (std::size_t at = 0; at < asked.size(); ++at) object_names.put(asked[at], names.texts[at]);
  }
}

void ServerTarget::put_queries(const ReplaySetup& setup) {
  const std::size_t rows_max = server_.batch_rows_max(ManualServer::query_bytes);
  for (auto first = setup.queries.begin(); first != setup.queries.end();) {
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(
                                  rows_max, static_cast<std::size_t>(setup.queries.end() - first)));
    server_.post(protocol::PutQueries{setup.stream, {first, last}});
    first = last;
  }
  server_.expect_all_accepted("queries");
}

void ServerTarget::follow(const ReplaySetup& setup) {
  protocol::SubscriptionOptions subscription;
  subscription.stream = setup.stream;
  for (const protocol::QuerySpec& query : setup.queries) query_ids_.insert(to_number(query.id));
  subscription.query_ids.assign(query_ids_.begin(), query_ids_.end());
  protocol::SubscriptionHandlers handlers;
  handlers.applied = [this](const protocol::DecodedTick& tick) { take_tick(tick); };
  handlers.replaced = [this](const protocol::HeldAt&) { take_snapshot(); };
  handlers.lost = [this](std::uint64_t ticks) { ticks_lost_ += ticks; };
  server_.follow(subscription, handlers);
}

StagedRows ServerTarget::stage(std::span<const TraceRow> rows) {
  const std::size_t rows_max = server_.batch_rows_max(ManualServer::row_bytes);
  while (!rows.empty()) {
    std::size_t count = 1;  // a batch speaks of tags for all of its rows or for none
    while (count < std::min(rows_max, rows.size()) && rows[count].has_tags == rows[0].has_tags)
      ++count;
    post(rows.first(count));
    rows = rows.subspan(count);
  }
  const protocol::BatchTotals totals = server_.client().flush();
  if (totals.first_refusal) throw protocol::RefusedError(*totals.first_refusal);
  return {totals.accepted, totals.late, totals.rejected};
}

void ServerTarget::post(std::span<const TraceRow> rows) {
  const auto components = static_cast<std::size_t>(dimensions(space().space));
  ids_.clear();
  times_us_.clear();
  coordinates_.clear();
  tags_.clear();
  for (const TraceRow& row : rows) {
    ids_.push_back(to_number(row.id));
    times_us_.push_back(row.time_us);
    coordinates_.insert(coordinates_.end(), row.position.begin(),
                        row.position.begin() + static_cast<std::ptrdiff_t>(components));
    if (row.has_tags) tags_.push_back(row.tags);
  }
  protocol::UpdateBatch batch;
  batch.ids = ids_;
  batch.times_us = times_us_;
  batch.components = static_cast<std::uint8_t>(components);
  batch.coordinates = coordinates_;
  batch.tags = tags_;
  server_.post(batch);
}

FinishedTick ServerTarget::advance(std::int64_t tau_us, protocol::ListStore* lists) {
  lists_ = lists;
  const protocol::TickDone done = server_.client().advance_tick(tau_us).value();
  if (lists != nullptr) {
    server_.await_lists(done.tick, [this] { before_ = server_.state().lists(); });
    before_.reset();
  }
  if (ticks_lost_ > 0)
    throw std::runtime_error("the server dropped " + std::to_string(ticks_lost_) +
                             " ticks on their way here; let it queue more for a subscriber");
  return {done.tick, done.tau_us, done.object_count, {done.build_ms, done.search_ms, done.diff_ms}};
}

void ServerTarget::take_tick(const protocol::DecodedTick& tick) {
  if (lists_ == nullptr) return;
  const auto is_ours = [&](std::uint64_t query_id) { return query_ids_.contains(query_id); };
  protocol::apply_lists(tick, is_ours, *lists_);
}

// The missed tick is what tells the lists now from those before it. What it would not have reported
// stays as it is in `lists_`.
void ServerTarget::take_snapshot() {
  if (!before_) return;
  const protocol::ListStore& now = server_.state().lists();
  for (const auto& [key, list] : *before_)
    if (!now.contains(key)) lists_->erase(key);
  for (const auto& [key, list] : now) {
    const auto before = before_->find(key);
    if (before == before_->end() || differ(before->second, list, on_)) (*lists_)[key] = list;
  }
}

}  // namespace starling::sim
