// A replay as a client of a server: see server_target.hpp.
#include "sim/server_target.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <zmq.hpp>

namespace starling::sim {
namespace {

constexpr std::int64_t patience_ms = 30'000;
constexpr std::int64_t poll_ms = 20;
constexpr std::size_t row_bytes = 48;  // id, time, three coordinates, tags, and some of the frame
constexpr std::size_t query_bytes = 192;

protocol::ClientOptions client_options(const ServerTargetOptions& options) {
  return {.commands = options.commands,
          .name = "starling replay",
          .timeout_ms = patience_ms,
          .connect_timeout_ms = options.connect_timeout_ms};
}

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

ServerTarget::ServerTarget(zmq::context_t& context, const ServerTargetOptions& options)
    : context_(context), options_(options), client_(context, client_options(options)) {
  if (!client_.server().manual_ticks)
    throw UsageError("--connect: the server at " + options.commands +
                     " ticks by itself; a replay needs one started with --tick manual");
}

ServerTarget::~ServerTarget() = default;

void ServerTarget::start(const ReplaySetup& setup, const NameTable& object_names,
                         const NameTable& query_names) {
  on_ = setup.on;
  put_names(object_names, "the objects' names");
  put_names(query_names, "the queries' names");
  client_.put_stream({setup.stream, setup.on, {}}).value();
  if (options_.wants_lists) subscribe(setup);
  put_queries(setup);
}

std::size_t ServerTarget::batch_rows_max(std::size_t bytes_per_row) const {
  const protocol::Limits& limits = client_.server().limits;
  const std::size_t bytes_max = std::min<std::size_t>(limits.frame_bytes_max, limits.credit_bytes);
  return std::max<std::size_t>(
      1, std::min({std::size_t{limits.rows_max}, std::size_t{limits.credit_rows},
                   bytes_max / bytes_per_row}));
}

void ServerTarget::put_names(const NameTable& names, const char* what) {
  const std::size_t rows_max = batch_rows_max(client_.server().limits.text_bytes_max + 32);
  std::vector<std::uint64_t> ids;
  protocol::PutNames batch;
  const auto post_batch = [&] {
    batch.ids = ids;
    if (!ids.empty())
      if (const auto problem = client_.post(batch)) throw protocol::RefusedError(*problem);
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
  expect_all_accepted(what);
}

void ServerTarget::learn_names(const protocol::ListStore& lists, NameTable& object_names) {
  const std::size_t asked_max = client_.server().limits.names_asked_max;
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
    const protocol::NameAnswers names = client_.get_names(asked).value();
    for (std::size_t at = 0; at < asked.size(); ++at) object_names.put(asked[at], names.texts[at]);
  }
}

void ServerTarget::put_queries(const ReplaySetup& setup) {
  const std::size_t rows_max = batch_rows_max(query_bytes);
  for (auto first = setup.queries.begin(); first != setup.queries.end();) {
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(
                                  rows_max, static_cast<std::size_t>(setup.queries.end() - first)));
    if (const auto problem = client_.post(protocol::PutQueries{setup.stream, {first, last}}))
      throw protocol::RefusedError(*problem);
    first = last;
  }
  expect_all_accepted("the queries");
}

void ServerTarget::expect_all_accepted(const char* what) {
  const protocol::BatchTotals totals = client_.flush();
  if (totals.first_refusal) throw protocol::RefusedError(*totals.first_refusal);
  if (totals.rejected == 0) return;
  const auto reason = std::ranges::find_if(totals.rejected_by_reason,
                                           [](std::uint64_t count) { return count > 0; });
  throw std::runtime_error(
      "the server rejects " + std::to_string(totals.rejected) + " of " + what + ": " +
      std::string(
          to_string(static_cast<protocol::RowReason>(reason - totals.rejected_by_reason.begin()))));
}

// A subscription travels by itself, not with the commands; a tick before it has arrived would be
// missed. The server counts it when it has; those who leave meanwhile do not lower that count.
void ServerTarget::subscribe(const ReplaySetup& setup) {
  const double before = joined_count();
  protocol::SubscriberOptions options;
  options.results = options_.results;
  options.client = client_options(options_);
  options.subscription.stream = setup.stream;
  options.retry_interval_ms = std::min(options.retry_interval_ms, options_.missed_after_ms);
  for (const protocol::QuerySpec& query : setup.queries) query_ids_.insert(to_number(query.id));
  options.subscription.query_ids.assign(query_ids_.begin(), query_ids_.end());
  protocol::SubscriptionHandlers handlers;
  handlers.applied = [this](const protocol::DecodedTick& tick) { take_tick(tick); };
  handlers.replaced = [this](const protocol::HeldAt&) { take_snapshot(); };
  handlers.lost = [this](std::uint64_t ticks) { ticks_lost_ += ticks; };
  subscriber_.emplace(context_, options, handlers);
  wait_until([&] { return joined_count() > before; }, "the stream at " + options_.results,
             options_.connect_timeout_ms);
  wait_until([&] { return subscriber_->state().is_live(); }, "the stream's snapshot", patience_ms);
}

double ServerTarget::joined_count() {
  for (const auto& [name, value] : client_.get_stats().value())
    if (name == "starling_subscriptions_joined_total") return value;
  throw std::runtime_error("the server at " + options_.commands + " counts no subscriptions");
}

StagedRows ServerTarget::stage(std::span<const TraceRow> rows) {
  const std::size_t rows_max = batch_rows_max(row_bytes);
  while (!rows.empty()) {
    std::size_t count = 1;  // a batch speaks of tags for all of its rows or for none
    while (count < std::min(rows_max, rows.size()) && rows[count].has_tags == rows[0].has_tags)
      ++count;
    post(rows.first(count));
    rows = rows.subspan(count);
  }
  const protocol::BatchTotals totals = client_.flush();
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
  if (const auto problem = client_.post(batch)) throw protocol::RefusedError(*problem);
}

FinishedTick ServerTarget::advance(std::int64_t tau_us, protocol::ListStore* lists) {
  lists_ = lists;
  const protocol::TickDone done = client_.advance_tick(tau_us).value();
  if (lists != nullptr) await_lists(done.tick);
  if (ticks_lost_ > 0)
    throw std::runtime_error("the server dropped " + std::to_string(ticks_lost_) +
                             " ticks on their way here; let it queue more for a subscriber");
  return {done.tick, done.tau_us, done.object_count, {done.build_ms, done.search_ms, done.diff_ms}};
}

// No later tick comes in lock step to show that this one was lost on its way, beyond a high-water
// mark or while the connection was made anew.
void ServerTarget::await_lists(Tick tick) {
  const auto missed_at =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.missed_after_ms);
  const auto is_held = [&] { return subscriber_->state().held_at()->tick >= tick; };
  const auto is_held_or_asked_for = [&] {
    if (is_held()) return true;
    if (!before_ && std::chrono::steady_clock::now() >= missed_at) {
      before_ = subscriber_->state().lists();
      subscriber_->miss_tick();
    }
    return false;
  };
  wait_until(is_held_or_asked_for, "tick " + std::to_string(to_number(tick)), patience_ms);
  before_.reset();
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
  const protocol::ListStore& now = subscriber_->state().lists();
  for (const auto& [key, list] : *before_)
    if (!now.contains(key)) lists_->erase(key);
  for (const auto& [key, list] : now) {
    const auto before = before_->find(key);
    if (before == before_->end() || differ(before->second, list, on_)) (*lists_)[key] = list;
  }
}

void ServerTarget::wait_until(const std::function<bool()>& done, const std::string& what,
                              std::int64_t timeout_ms) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error(what + " has not come within " + std::to_string(timeout_ms) + " ms" +
                               (subscriber_->obstacle().empty() ? "; is --results right?"
                                                                : ": " + subscriber_->obstacle()));
    subscriber_->poll(poll_ms);
  }
}

}  // namespace starling::sim
