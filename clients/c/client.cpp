// SPDX-License-Identifier: Apache-2.0
// The functions of starling.h for a client of a server. They check what the caller gives and call
// RestoringClient.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/clients/c/client_options.hpp"
#include "starling/clients/c/handles.hpp"
#include "starling/clients/c/inputs.hpp"
#include "starling/clients/c/result.hpp"
#include "starling/clients/c/starling.h"
#include "starling/clients/c/structs.hpp"
#include "starling/protocol/client/restoring_client.hpp"
#include "starling/protocol/wire/text_id.hpp"

namespace starling::c {
namespace {

class ClientHandle final : public Handle, public protocol::RestoringClient {
 public:
  ClientHandle(protocol::ClientOptions options, bool restores)
      : RestoringClient(zmq_context(), {.client = std::move(options), .restores = restores}) {}
};

using Client = Use<ClientHandle>;

/// Returns the value. Throws FailureError with the server's refusal if there is no value.
template <class Value>
Value value_of(protocol::Result<Value> result) {
  if (!result) fail(result.problem());
  return std::move(result).value();
}

Counts counts_of(protocol::Result<protocol::BatchReply> result) {
  const protocol::BatchReply reply = value_of(std::move(result));
  return {.accepted = reply.accepted, .late = reply.late, .rejected = reply.rejected};
}

/// Returns a function that makes the parts of an update one by one, as RestoringClient sends them.
protocol::RestoringClient::RowsOf parts_of(Rows& rows) {
  return [&rows](std::size_t first, std::size_t count) { return rows.batch(first, count); };
}

/// Returns the limits without rows_max, because RestoringClient sends standing queries in parts.
protocol::Limits limits_in_parts(const protocol::Limits& limits) {
  protocol::Limits without_rows_max = limits;
  without_rows_max.rows_max = std::numeric_limits<std::uint32_t>::max();
  return without_rows_max;
}

starling_server_info info_of(const protocol::RestoringClient& client) {
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
  give(result_of(value_of(use->get_neighbors(
           {.questions = queries_of(questions, count, Asked::once, use->server().limits),
            .at_us = at_us}))),
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
    c::Rows given(rows, use->server().space);
    c::write_counts(counts, c::counts_of(use->update(given.count(), c::parts_of(given))));
  });
}

starling_code starling_client_update_tags(starling_client* client, uint64_t count,
                                          const uint64_t* ids, const int64_t* times_us,
                                          const uint32_t* set, const uint32_t* clear,
                                          starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    c::write_counts(counts,
                    c::counts_of(use->update_tags(c::tags_of(count, ids, times_us, set, clear))));
  });
}

starling_code starling_client_remove_objects(starling_client* client, uint64_t count,
                                             const uint64_t* ids, const int64_t* times_us,
                                             starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    c::write_counts(counts,
                    c::counts_of(use->remove_objects(c::removals_of(count, ids, times_us))));
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
    c::write_counts(counts, c::counts_of(use->put_names({.ids = c::array_of(ids, count, "ids"),
                                                         .texts = std::move(views)})));
  });
}

starling_code starling_client_put_stream(starling_client* client, const starling_stream* stream) {
  return c::guard([&] { c::value_of(c::Client(client)->put_stream(c::stream_of(stream))); });
}

starling_code starling_client_remove_stream(starling_client* client, const char* stream) {
  return c::guard(
      [&] { c::value_of(c::Client(client)->remove_stream(c::stream_name_of(stream))); });
}

starling_code starling_client_put_queries(starling_client* client, const char* stream,
                                          const starling_query* queries, uint64_t count,
                                          starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    const std::string name = c::stream_name_of(stream);
    const protocol::Limits limits = c::limits_in_parts(use->server().limits);
    c::write_counts(counts,
                    c::counts_of(use->put_queries(
                        {.stream = name,
                         .queries = c::queries_of(queries, count, c::Asked::standing, limits)})));
  });
}

starling_code starling_client_remove_queries(starling_client* client, const char* stream,
                                             const uint64_t* ids, uint64_t count,
                                             starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    const std::string name = c::stream_name_of(stream);
    c::write_counts(
        counts,
        c::counts_of(use->remove_queries({.stream = name, .ids = c::array_of(ids, count, "ids")})));
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
    const protocol::TickDone done = c::value_of(use->advance_tick(tau_us));
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
    c::Rows given(rows, use->server().space);
    if (const auto problem = use->post(given.count(), c::parts_of(given))) c::fail(*problem);
  });
}

starling_code starling_client_flush(starling_client* client, starling_counts* counts) {
  return c::guard([&] {
    const c::Client use(client);
    c::check_counts(counts);
    const protocol::BatchTotals totals = use->flush();
    c::write_counts(
        counts, {.accepted = totals.accepted, .late = totals.late, .rejected = totals.rejected});
    if (totals.first_refusal) c::fail(*totals.first_refusal);
  });
}

starling_code starling_client_stats(starling_client* client,
                                    void (*take)(void* context, const char* name, double value),
                                    void* context) {
  return c::guard([&] {
    const c::Client use(client);
    if (take == nullptr) c::fail(STARLING_INVALID_ARGUMENT, "take is NULL.");
    for (const auto& [name, value] : c::value_of(use->get_stats()))
      take(context, name.c_str(), value);
  });
}

uint64_t starling_text_id(const char* text) {
  return text == nullptr ? 0 : to_number(protocol::id_of_text(text));
}
