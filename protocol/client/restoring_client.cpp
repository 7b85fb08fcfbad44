// SPDX-License-Identifier: Apache-2.0
// Divides batches, and puts streams, queries and names again after a restart of the server: see
// restoring_client.hpp.
#include "starling/protocol/client/restoring_client.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "starling/protocol/client/kept_queries.hpp"
#include "starling/protocol/client/rows_at_once.hpp"
#include "starling/protocol/wire/check.hpp"

namespace starling::protocol {
namespace {

// Longest pause between two attempts to put everything again, if the server restarts meanwhile.
constexpr std::chrono::milliseconds restart_pause_max{500};

/// Returns rows [first, first + count) of an array with `width` numbers in each row. An empty
/// array, which the batch leaves out, stays empty.
template <class Number>
std::span<Number> part_of(std::span<Number> all, std::size_t first, std::size_t count,
                          std::size_t width = 1) {
  return all.empty() ? all : all.subspan(first * width, count * width);
}

UpdateBatch part_of(const UpdateBatch& all, std::size_t first, std::size_t count) {
  UpdateBatch part = all;
  part.ids = part_of(all.ids, first, count);
  part.times_us = part_of(all.times_us, first, count);
  part.coordinates = part_of(all.coordinates, first, count, all.components_a_row());
  part.coordinates_f32 = part_of(all.coordinates_f32, first, count, all.components_a_row());
  if (all.row_columns.empty()) {
    part.tags = part_of(all.tags, first, count);
    part.labels = part_of(all.labels, first, count);
    part.values = part_of(all.values, first, count);
    return part;
  }
  part.row_columns = part_of(all.row_columns, first, count);
  const auto entries = [&](auto array, RowColumn column) {
    return array.subspan(entries_in(all, column, 0, first), entries_in(all, column, first, count));
  };
  part.tags = entries(all.tags, tags_column);
  part.labels = entries(all.labels, label_column);
  part.values = entries(all.values, value_column);
  return part;
}

template <class Row>
std::vector<Row> part_of(const std::vector<Row>& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::optional<Problem> check_arrays(const UpdateBatch& batch) {
  const std::size_t rows = batch.ids.size();
  if (auto problem = check_same_length("times_us", batch.times_us.size(), rows)) return problem;
  if (auto problem = check_coordinates(batch)) return problem;
  return check_row_columns(batch);
}

/// Adds the reply to one part to `all`. The part begins at row `first` of the batch.
void add(const BatchReply& part, std::size_t first, BatchReply& all) {
  all.accepted += part.accepted;
  all.late += part.late;
  all.rejected += part.rejected;
  for (const ReasonCount& each : part.reasons) {
    const auto same = std::ranges::find(all.reasons, each.reason, &ReasonCount::reason);
    if (same == all.reasons.end())
      all.reasons.push_back(each);
    else
      same->count += each.count;
  }
  for (RejectedRow row : part.first_rejected) {
    if (all.first_rejected.size() == rejected_rows_listed_max) return;
    row.index += static_cast<std::uint32_t>(first);
    all.first_rejected.push_back(row);
  }
}

}  // namespace

RestoringClient::RestoringClient(zmq::context_t& context, RestoringClientOptions options)
    : client_(context, options.client),
      server_name_(std::move(options.client.commands)),
      timeout_ms_(options.client.timeout_ms),
      restores_(options.restores),
      kept_(std::make_unique<KeptQueries>()),
      epoch_(client_.epoch()) {}

RestoringClient::~RestoringClient() = default;

Result<BatchReply> RestoringClient::update(const UpdateBatch& rows) {
  if (auto mismatch = check_arrays(rows)) return *std::move(mismatch);
  return update(rows.ids.size(),
                [&](std::size_t first, std::size_t count) { return part_of(rows, first, count); });
}

Result<BatchReply> RestoringClient::update(std::size_t count, const RowsOf& rows_of) {
  if (count == 0) return BatchReply{};
  return send_parts(count, updates_at_once(server().limits),
                    [&](std::size_t first, std::size_t part_count) {
                      const UpdateBatch part = rows_of(first, part_count);
                      return acknowledged(ask([&](Client& client) { return client.update(part); }));
                    });
}

std::optional<Problem> RestoringClient::post(const UpdateBatch& rows) {
  if (auto mismatch = check_arrays(rows)) return mismatch;
  return post(rows.ids.size(),
              [&](std::size_t first, std::size_t count) { return part_of(rows, first, count); });
}

std::optional<Problem> RestoringClient::post(std::size_t count, const RowsOf& rows_of) {
  const std::size_t at_once = updates_at_once(server().limits);
  for (std::size_t first = 0; first < count; first += at_once) {
    auto problem = client_.post(rows_of(first, std::min(at_once, count - first)));
    notice_restart();
    if (problem) return problem;
  }
  return std::nullopt;
}

BatchTotals RestoringClient::flush() {
  BatchTotals totals = client_.flush();
  notice_restart();
  rows_acknowledged_ += totals.accepted;
  return totals;
}

Result<BatchReply> RestoringClient::update_tags(const UpdateTags& rows) {
  for (const auto& [name, size] :
       {std::pair("times_us", rows.times_us.size()), std::pair("set", rows.set.size()),
        std::pair("clear", rows.clear.size())})
    if (auto mismatch = check_same_length(name, size, rows.ids.size())) return *std::move(mismatch);
  return send_parts(
      rows.ids.size(), ids_at_once(server().limits), [&](std::size_t first, std::size_t count) {
        const UpdateTags part{.ids = part_of(rows.ids, first, count),
                              .times_us = part_of(rows.times_us, first, count),
                              .set = part_of(rows.set, first, count),
                              .clear = part_of(rows.clear, first, count)};
        return acknowledged(ask([&](Client& client) { return client.update_tags(part); }));
      });
}

Result<BatchReply> RestoringClient::remove_objects(const RemoveObjects& rows) {
  if (auto mismatch = check_same_length("times_us", rows.times_us.size(), rows.ids.size()))
    return *std::move(mismatch);
  return send_parts(
      rows.ids.size(), ids_at_once(server().limits), [&](std::size_t first, std::size_t count) {
        const RemoveObjects part{.ids = part_of(rows.ids, first, count),
                                 .times_us = part_of(rows.times_us, first, count)};
        return acknowledged(ask([&](Client& client) { return client.remove_objects(part); }));
      });
}

Result<BatchReply> RestoringClient::put_names(const PutNames& names) {
  if (auto mismatch = check_same_length("texts", names.texts.size(), names.ids.size()))
    return *std::move(mismatch);
  return send_parts(names.ids.size(), names_at_once(server().limits),
                    [&](std::size_t first, std::size_t count) {
                      const PutNames part{.ids = part_of(names.ids, first, count),
                                          .texts = part_of(names.texts, first, count)};
                      auto reply = ask([&](Client& client) { return client.put_names(part); });
                      if (reply && restores_) kept_->put_names(part);
                      return reply;
                    });
}

Result<BatchReply> RestoringClient::put_queries(const PutQueries& queries) {
  return send_parts(queries.queries.size(), queries_at_once(server().limits),
                    [&](std::size_t first, std::size_t count) {
                      const PutQueries part{.stream = queries.stream,
                                            .queries = part_of(queries.queries, first, count)};
                      auto reply = ask([&](Client& client) { return client.put_queries(part); });
                      if (reply && restores_) kept_->put_queries(part, KeptQueries::Clock::now());
                      return reply;
                    });
}

Result<BatchReply> RestoringClient::remove_queries(const RemoveQueries& queries) {
  return send_parts(queries.ids.size(), ids_at_once(server().limits),
                    [&](std::size_t first, std::size_t count) {
                      const RemoveQueries part{.stream = queries.stream,
                                               .ids = part_of(queries.ids, first, count)};
                      auto reply = ask([&](Client& client) { return client.remove_queries(part); });
                      if (reply) kept_->remove_queries(part);
                      return reply;
                    });
}

Result<Done> RestoringClient::put_stream(const PutStream& stream) {
  auto done = ask([&](Client& client) { return client.put_stream(stream); });
  if (done && restores_) kept_->put_stream(stream);
  return done;
}

Result<Done> RestoringClient::remove_stream(std::string_view name) {
  auto done = ask([&](Client& client) { return client.remove_stream(name); });
  if (done) kept_->remove_stream(std::string(name));
  return done;
}

Result<TickDone> RestoringClient::advance_tick(std::int64_t tau_us) {
  return ask([&](Client& client) { return client.advance_tick(tau_us); });
}

Result<NeighborAnswers> RestoringClient::get_neighbors(const GetNeighbors& request) {
  return ask([&](Client& client) { return client.get_neighbors(request); });
}

Result<StatValues> RestoringClient::get_stats() {
  return ask([](Client& client) { return client.get_stats(); });
}

Result<BatchReply> RestoringClient::send_parts(std::size_t count, std::size_t at_once,
                                               const Send& send) {
  BatchReply all;
  std::size_t first = 0;
  do {
    const std::size_t part_count = std::min(at_once, count - first);
    const Result<BatchReply> reply = send(first, part_count);
    if (!reply) return reply.problem();
    add(*reply, first, all);
    first += part_count;
  } while (first < count);
  return all;
}

bool RestoringClient::must_ask_again(const Problem* refusal) {
  // A log that was put back may keep the old epoch.
  if (refusal != nullptr && refusal->code == ErrorCode::log_put_back) must_put_again_ = true;
  return notice_restart() && refusal != nullptr && refusal->code == ErrorCode::unknown_stream;
}

/// Returns true if the epoch has changed since the last call. Puts streams, queries and names again
/// if the server lacks them. If the server does not answer meanwhile, this throws, and the next
/// call goes on.
bool RestoringClient::notice_restart() {
  using Clock = std::chrono::steady_clock;
  const bool has_restarted = client_.epoch() != epoch_;
  const auto give_up = Clock::now() + std::chrono::milliseconds(timeout_ms_);
  std::chrono::milliseconds pause{10};
  std::uint64_t rounds = 0;
  while (client_.epoch() != epoch_ || must_put_again_) {
    if (client_.epoch() != epoch_) {
      epoch_ = client_.epoch();
      ++restarts_;
      rows_lost_ += std::exchange(rows_acknowledged_, 0);
    }
    must_put_again_ = true;
    if (rounds++ > 0) {
      if (Clock::now() >= give_up)
        throw TimeoutError("The server at " + server_name_ + " has begun " +
                           std::to_string(rounds) +
                           " new epochs, the last ones while this client put its streams and "
                           "queries again. Find out why it restarts, or connect to another.");
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, restart_pause_max);
    }
    try {
      kept_->put_again(client_, KeptQueries::Clock::now());
    } catch (const RefusedError&) {
      must_put_again_ = false;  // It would be refused again.
      throw;
    }
    must_put_again_ = false;
  }
  return has_restarted;
}

/// Counts the rows of objects that the server of epoch_ has accepted.
Result<BatchReply> RestoringClient::acknowledged(Result<BatchReply> reply) {
  if (reply) rows_acknowledged_ += reply->accepted;
  return reply;
}

}  // namespace starling::protocol
