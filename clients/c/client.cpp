// SPDX-License-Identifier: Apache-2.0
// The client of a server behind the checks of the interface. After a restart of the server it puts
// its streams and queries again.
#include "starling/protocol/client/client.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/clients/c/client_options.hpp"
#include "starling/clients/c/handles.hpp"
#include "starling/clients/c/inputs.hpp"
#include "starling/clients/c/kept_queries.hpp"
#include "starling/clients/c/result.hpp"
#include "starling/clients/c/starling.h"
#include "starling/clients/c/structs.hpp"
#include "starling/protocol/wire/text_id.hpp"

namespace starling::c {
namespace {

using protocol::Problem;

class ClientHandle final : public Handle {
 public:
  ClientHandle(protocol::ClientOptions options, bool restores)
      : client_(zmq_context(), std::move(options)), restores_(restores), epoch_(client_.epoch()) {}

  const protocol::HelloReply& server() const { return client_.server(); }
  std::uint64_t restarts() const { return restarts_; }
  std::uint64_t rows_lost() const { return rows_lost_; }

  Counts update(Rows rows) {
    Counts counts;
    const std::uint64_t rows_at_once = batch_rows();
    for (std::uint64_t first = 0; first < rows.count(); first += rows_at_once) {
      const auto batch = rows.batch(first, std::min(rows_at_once, rows.count() - first));
      add(ask([&] { return client_.update(batch); }), counts);
    }
    return counts;
  }

  void post(Rows rows) {
    const std::uint64_t rows_at_once = batch_rows();
    for (std::uint64_t first = 0; first < rows.count(); first += rows_at_once) {
      const auto problem =
          client_.post(rows.batch(first, std::min(rows_at_once, rows.count() - first)));
      notice_restart();
      if (problem) fail(*problem);
    }
  }

  Counts flush(std::optional<Problem>& refusal) {
    const protocol::BatchTotals totals = client_.flush();
    notice_restart();
    rows_acknowledged_ += totals.accepted;
    refusal = totals.first_refusal;
    return {.accepted = totals.accepted, .late = totals.late, .rejected = totals.rejected};
  }

  Counts update_tags(const protocol::UpdateTags& all) {
    Counts counts;
    in_parts(all.ids.size(), limits().rows_max, [&](std::size_t first, std::size_t count) {
      const protocol::UpdateTags batch{.ids = all.ids.subspan(first, count),
                                       .times_us = all.times_us.subspan(first, count),
                                       .set = all.set.subspan(first, count),
                                       .clear = all.clear.subspan(first, count)};
      add(ask([&] { return client_.update_tags(batch); }), counts);
    });
    return counts;
  }
  Counts remove_objects(const protocol::RemoveObjects& all) {
    Counts counts;
    in_parts(all.ids.size(), limits().rows_max, [&](std::size_t first, std::size_t count) {
      const protocol::RemoveObjects batch{.ids = all.ids.subspan(first, count),
                                          .times_us = all.times_us.subspan(first, count)};
      add(ask([&] { return client_.remove_objects(batch); }), counts);
    });
    return counts;
  }
  Counts put_names(std::span<const std::uint64_t> ids, std::span<const std::string_view> texts) {
    Counts counts;
    in_parts(ids.size(), names_at_once(limits()), [&](std::size_t first, std::size_t count) {
      const auto some = texts.subspan(first, count);
      const protocol::PutNames batch{.ids = ids.subspan(first, count),
                                     .texts = {some.begin(), some.end()}};
      add_other(ask([&] { return client_.put_names(batch); }), counts);
      if (restores_) kept_.put_names(batch);
    });
    return counts;
  }

  void put_stream(const protocol::PutStream& stream) {
    ask([&] { return client_.put_stream(stream); });
    if (restores_) kept_.put_stream(stream);
  }
  void remove_stream(const std::string& name) {
    ask([&] { return client_.remove_stream(name); });
    kept_.remove_stream(name);
  }
  Counts put_queries(const std::string& stream, std::span<const protocol::QuerySpec> queries) {
    Counts counts;
    in_parts(queries.size(), queries_at_once(limits()), [&](std::size_t first, std::size_t count) {
      const auto some = queries.subspan(first, count);
      const protocol::PutQueries request{.stream = stream, .queries = {some.begin(), some.end()}};
      add_other(ask([&] { return client_.put_queries(request); }), counts);
      if (restores_) kept_.put_queries(request, KeptQueries::Clock::now());
    });
    return counts;
  }
  Counts remove_queries(const std::string& stream, std::span<const std::uint64_t> ids) {
    Counts counts;
    in_parts(ids.size(), limits().rows_max, [&](std::size_t first, std::size_t count) {
      const protocol::RemoveQueries request{.stream = stream, .ids = ids.subspan(first, count)};
      add_other(ask([&] { return client_.remove_queries(request); }), counts);
      kept_.remove_queries(request);
    });
    return counts;
  }

  protocol::NeighborAnswers neighbors(const protocol::GetNeighbors& request) {
    return ask([&] { return client_.get_neighbors(request); });
  }
  protocol::TickDone advance_tick(std::int64_t tau_us) {
    return ask([&] { return client_.advance_tick(tau_us); });
  }
  protocol::StatValues stats() {
    return ask([&] { return client_.get_stats(); });
  }

  const protocol::Limits& limits() const { return server().limits; }
  /// The limits of queries that are sent in parts.
  protocol::Limits limits_of_queries() const {
    protocol::Limits limits = server().limits;
    limits.rows_max = std::numeric_limits<std::uint32_t>::max();
    return limits;
  }

 private:
  /// The rows of one request. A quarter of the credit, so that several requests are under way.
  std::uint64_t batch_rows() const {
    const protocol::Limits& limits = server().limits;
    const std::uint64_t row_bytes = 8 + 8 + 4 + 8 + 8 + 8 * std::max(3u, limits.dimension);
    const std::uint64_t frame =
        std::min<std::uint64_t>(limits.frame_bytes_max, limits.credit_bytes / 4);
    return std::max<std::uint64_t>(
        1, std::min({std::uint64_t{limits.rows_max}, limits.credit_rows / 4,
                     (frame - std::min<std::uint64_t>(frame, 4096)) / row_bytes,
                     std::uint64_t{1} << 16}));
  }

  /// Calls `part` with the first index and the number of each part, so that no request has more
  /// rows than the server takes. At least once, also without rows.
  template <class Part>
  static void in_parts(std::size_t count, std::size_t at_once, Part part) {
    std::size_t first = 0;
    do {
      const std::size_t here = std::min(at_once, count - first);
      part(first, here);
      first += here;
    } while (first < count);
  }

  /// Sends a request. If the server has restarted meanwhile, puts streams and queries again, and
  /// asks once more where the new server did not know the stream.
  template <class Call>
  auto ask(Call call) -> decltype(call().value()) {
    auto result = call();
    // The epoch may be the old one.
    if (!result && result.problem().code == protocol::ErrorCode::log_put_back)
      must_put_again_ = true;
    if (notice_restart() && !result && result.problem().code == protocol::ErrorCode::unknown_stream)
      result = call();
    if (!result) fail(result.problem());
    return std::move(result).value();
  }

  /// Returns whether the server has restarted since the last call. Puts streams and queries again;
  /// if the server does not answer meanwhile, the next call goes on with it.
  bool notice_restart() {
    const bool has_restarted = client_.epoch() != epoch_;
    while (client_.epoch() != epoch_ || must_put_again_) {
      if (client_.epoch() != epoch_) {
        epoch_ = client_.epoch();
        ++restarts_;
        rows_lost_ += std::exchange(rows_acknowledged_, 0);
      }
      must_put_again_ = true;
      try {
        kept_.put_again(client_, KeptQueries::Clock::now());
      } catch (const protocol::RefusedError&) {
        must_put_again_ = false;  // it would be refused again
        throw;
      }
      must_put_again_ = false;
    }
    return has_restarted;
  }

  void add(const protocol::BatchReply& reply, Counts& counts) {
    add_other(reply, counts);
    rows_acknowledged_ += reply.accepted;
  }
  /// Adds the reply to a batch that has no rows of objects.
  static void add_other(const protocol::BatchReply& reply, Counts& counts) {
    counts.accepted += reply.accepted;
    counts.late += reply.late;
    counts.rejected += reply.rejected;
  }

  protocol::Client client_;
  bool restores_;
  std::uint64_t epoch_;
  std::uint64_t restarts_ = 0;
  std::uint64_t rows_acknowledged_ = 0;  ///< by the server of epoch_
  std::uint64_t rows_lost_ = 0;
  bool must_put_again_ = false;  ///< what the new server does not have yet
  KeptQueries kept_;
};

using Client = Use<ClientHandle>;

starling_server_info info_of(const ClientHandle& client) {
  const protocol::HelloReply& server = client.server();
  return {.size = 0,
          .epoch = server.epoch,
          .session = server.session,
          .space = static_cast<starling_space>(server.space.space),
          .resolution_m = server.space.resolution_m,
          .origin = {server.space.origin[0], server.space.origin[1], server.space.origin[2]},
          .dimension = server.space.dimension,
          .metric = static_cast<starling_metric>(server.space.metric),
          .manual_ticks = server.manual_ticks ? 1 : 0,
          .restarts = client.restarts(),
          .rows_lost = client.rows_lost()};
}

std::unique_ptr<ResultHandle> result_of(const protocol::NeighborAnswers& answers) {
  auto result = std::make_unique<ResultHandle>();
  result->info.epoch = answers.epoch;
  result->info.tick = to_number(answers.tick);
  result->info.tau_us = answers.tau_us;
  ListArrays arrays("", {.distance = true});
  for (std::size_t i = 0; i < answers.lists.size(); ++i)
    arrays.add({.query = QueryId{i}}, answers.lists[i]);
  arrays.set_unknown(answers.unknown);
  result->streams.push_back(std::move(arrays));
  return result;
}

void answer(starling_client* client, const starling_query* questions, std::uint64_t count,
            std::optional<std::int64_t> at_us, starling_result** result) {
  check_place(result, "result");
  const Client use(client);
  give(
      result_of(use->neighbors(
          {.questions = queries_of(questions, count, Asked::once, use->limits()), .at_us = at_us})),
      result);
}

}  // namespace
}  // namespace starling::c

using namespace starling;

starling_code starling_client_options_init(starling_client_options* options, size_t size) {
  return c::guard([&] {
    c::init_struct(options, size, "starling_client_options",
                   starling_client_options{.size = 0,
                                           .commands = "tcp://127.0.0.1:7411",
                                           .name = "libstarling",
                                           .timeout_ms = 30'000,
                                           .restore = 1,
                                           .reserved = 0,
                                           .key_file = nullptr,
                                           .server_key = nullptr});
  });
}

starling_code starling_client_connect(const starling_client_options* options,
                                      starling_client** client) {
  return c::guard([&] {
    c::check_place(client, "client");
    const auto given = c::read_struct(options, "options");
    c::give(std::make_unique<c::ClientHandle>(c::client_options({.commands = given.commands,
                                                                 .name = given.name,
                                                                 .timeout_ms = given.timeout_ms,
                                                                 .key_file = given.key_file,
                                                                 .server_key = given.server_key}),
                                              given.restore != 0),
            client);
  });
}

starling_code starling_client_destroy(starling_client* client) {
  return c::destroy<c::ClientHandle>(client);
}

starling_code starling_client_info(starling_client* client, starling_server_info* info) {
  return c::guard([&] { c::write_struct(info, "info", c::info_of(*c::Client(client))); });
}

starling_code starling_client_update(starling_client* client, const starling_rows* rows,
                                     starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    c::write_counts(counts, use->update(c::Rows(rows, use->server().space)));
  });
}

starling_code starling_client_update_tags(starling_client* client, uint64_t count,
                                          const uint64_t* ids, const int64_t* times_us,
                                          const uint32_t* set, const uint32_t* clear,
                                          starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    c::write_counts(counts, use->update_tags(c::tags_of(count, ids, times_us, set, clear)));
  });
}

starling_code starling_client_remove_objects(starling_client* client, uint64_t count,
                                             const uint64_t* ids, const int64_t* times_us,
                                             starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    c::write_counts(counts, use->remove_objects(c::removals_of(count, ids, times_us)));
  });
}

starling_code starling_client_put_names(starling_client* client, uint64_t count,
                                        const uint64_t* ids, const char* const* texts,
                                        starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    std::vector<std::string_view> views;
    for (const char* const text : c::array_of(texts, count, "texts")) {
      if (text == nullptr)
        c::fail(STARLING_INVALID_ARGUMENT, "Text " + std::to_string(views.size()) + " is NULL.");
      views.emplace_back(text);
    }
    c::write_counts(counts, use->put_names(c::array_of(ids, count, "ids"), views));
  });
}

starling_code starling_client_put_stream(starling_client* client, const starling_stream* stream) {
  return c::guard([&] { c::Client(client)->put_stream(c::stream_of(stream)); });
}

starling_code starling_client_remove_stream(starling_client* client, const char* stream) {
  return c::guard([&] { c::Client(client)->remove_stream(c::stream_name_of(stream)); });
}

starling_code starling_client_put_queries(starling_client* client, const char* stream,
                                          const starling_query* queries, uint64_t count,
                                          starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    c::write_counts(counts, use->put_queries(c::stream_name_of(stream),
                                             c::queries_of(queries, count, c::Asked::standing,
                                                           use->limits_of_queries())));
  });
}

starling_code starling_client_remove_queries(starling_client* client, const char* stream,
                                             const uint64_t* ids, uint64_t count,
                                             starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    c::write_counts(counts,
                    use->remove_queries(c::stream_name_of(stream), c::array_of(ids, count, "ids")));
  });
}

starling_code starling_client_neighbors(starling_client* client, const starling_query* questions,
                                        uint64_t count, starling_result** result) {
  return c::guard([&] { c::answer(client, questions, count, std::nullopt, result); });
}

starling_code starling_client_neighbors_at(starling_client* client, const starling_query* questions,
                                           uint64_t count, int64_t tau_us,
                                           starling_result** result) {
  return c::guard([&] { c::answer(client, questions, count, tau_us, result); });
}

starling_code starling_client_advance_tick(starling_client* client, int64_t tau_us,
                                           starling_tick_info* info) {
  return c::guard([&] {
    const c::Client use(client);
    if (info != nullptr) c::size_of(info, "info");
    const protocol::TickDone done = use->advance_tick(tau_us);
    c::write_optional(info, "info",
                      starling_tick_info{.size = 0,
                                         .epoch = use->server().epoch,
                                         .tick = to_number(done.tick),
                                         .tau_us = done.tau_us,
                                         .object_count = done.object_count,
                                         .stream_count = 0,
                                         .build_ms = done.build_ms,
                                         .search_ms = done.search_ms,
                                         .diff_ms = done.diff_ms,
                                         .warning = ""});
  });
}

starling_code starling_client_post(starling_client* client, const starling_rows* rows) {
  return c::guard([&] {
    const c::Client use(client);
    use->post(c::Rows(rows, use->server().space));
  });
}

starling_code starling_client_flush(starling_client* client, starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    std::optional<protocol::Problem> refusal;
    c::write_counts(counts, use->flush(refusal));
    if (refusal) c::fail(*refusal);
  });
}

starling_code starling_client_stats(starling_client* client,
                                    void (*take)(void* context, const char* name, double value),
                                    void* context) {
  return c::guard([&] {
    const c::Client use(client);
    if (take == nullptr) c::fail(STARLING_INVALID_ARGUMENT, "take is NULL.");
    for (const auto& [name, value] : use->stats()) take(context, name.c_str(), value);
  });
}

uint64_t starling_text_id(const char* text) {
  return text == nullptr ? 0 : to_number(protocol::id_of_text(text));
}
