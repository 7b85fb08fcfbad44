// SPDX-License-Identifier: Apache-2.0
// Sends RemoveObjects, RemoveQueries and RemoveStream: see remove.hpp.
#include "starling/apps/remove/remove.hpp"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <zmq.hpp>

#include "starling/apps/shared/server/refusal_text.hpp"
#include "starling/apps/shared/server/row_totals.hpp"
#include "starling/apps/shared/server/server_flags.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/time_text.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::apps {
namespace {

struct RemoveFlags {
  ServerFlags server;
  std::string stream;
  std::vector<std::string> ids;
  std::string time;
  bool json = false;
};

std::vector<std::uint64_t> numbers_of(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> ids;
  for (const std::string& text : texts) ids.push_back(to_number(protocol::id_of_text(text)));
  return ids;
}

int report(const protocol::BatchReply& reply, bool json) {
  RowTotals totals;
  totals.add(reply);
  print_totals(totals, json, std::cout);
  return totals.rejected > 0 ? 1 : 0;
}

int remove_objects(const RemoveFlags& flags) {
  std::int64_t time_us = wall_now_us();
  if (!flags.time.empty()) {
    const auto parsed_us = parse_time_us(flags.time, {});
    if (!parsed_us)
      throw CLI::ValidationError("--time", sim::quoted_text(flags.time) +
                                               " is not a time; write 2022-01-03T00:10:00Z or "
                                               "seconds since 1970, for example");
    time_us = *parsed_us;
  }
  const std::vector<std::uint64_t> ids = numbers_of(flags.ids);
  const std::vector<std::int64_t> times_us(ids.size(), time_us);
  zmq::context_t zmq;
  protocol::Client client(zmq, client_options(flags.server, "starling remove object"));
  return report(value_of(client.remove_objects({.ids = ids, .times_us = times_us})), flags.json);
}

int remove_queries(const RemoveFlags& flags) {
  const std::vector<std::uint64_t> ids = numbers_of(flags.ids);
  zmq::context_t zmq;
  protocol::Client client(zmq, client_options(flags.server, "starling remove query"));
  return report(value_of(client.remove_queries({.stream = flags.stream, .ids = ids}), flags.stream),
                flags.json);
}

int remove_stream(const RemoveFlags& flags) {
  zmq::context_t zmq;
  protocol::Client client(zmq, client_options(flags.server, "starling remove stream"));
  value_of(client.remove_stream(flags.stream), flags.stream);
  std::cout << (flags.json ? "{\"removed\":1}" : "removed, with its queries") << '\n';
  return 0;
}

void add_common_flags(CLI::App& command, RemoveFlags& flags, const char* ids_help) {
  command.add_option("id", flags.ids, ids_help)->required();
  command.add_flag("--json", flags.json, "Print one JSON object");
  add_server_flags(command, flags.server);
}

}  // namespace

std::function<int()> add_remove(CLI::App& program) {
  struct Flags {
    ServerFlags server;
    bool json = false;
    RemoveFlags object;
    RemoveFlags query;
    RemoveFlags stream;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App& command =
      *program.add_subcommand("remove", "Remove objects, queries or streams from a running server");
  CLI::App& object = *command.add_subcommand("object", "Remove objects");
  add_common_flags(object, flags->object, "The ids of the objects: numbers or texts");
  object.add_option(
      "--time", flags->object.time,
      "When the objects left: 2022-01-03T00:10:00Z, or seconds since 1970. Rows of an "
      "earlier time no longer bring them back. Without this flag, now");
  CLI::App& query = *command.add_subcommand("query", "Remove queries of a stream");
  query.add_option("stream", flags->query.stream, "The stream of the queries")->required();
  add_common_flags(query, flags->query, "The ids of the queries: numbers or texts");
  CLI::App& stream = *command.add_subcommand("stream", "Remove a stream with its queries");
  stream.add_option("stream", flags->stream.stream, "The name of the stream")->required();
  stream.add_flag("--json", flags->stream.json, "Print one JSON object");
  add_server_flags(stream, flags->stream.server);
  command.require_subcommand(1);
  command.add_flag("--json", flags->json, "Print one JSON object");
  add_server_flags(command, flags->server);
  const char* const examples =
      "Examples:\n"
      "  starling remove object truck-7 truck-8 --time 2022-01-03T00:10:00Z\n"
      "  starling remove query ships harbour\n"
      "  starling remove stream ships\n"
      "Exit status: 0 done, 1 if an id was rejected or the server failed, 2 wrong usage.";
  for (CLI::App* each : {&command, &object, &query, &stream}) each->footer(examples);
  return [flags, &object, &query, &stream] {
    for (const auto& [each, chosen] :
         {std::pair{&object, &flags->object}, std::pair{&query, &flags->query},
          std::pair{&stream, &flags->stream}}) {
      inherit_server_flags(*each, chosen->server, flags->server);
      chosen->json = chosen->json || flags->json;
    }
    if (stream.parsed()) return remove_stream(flags->stream);
    return object.parsed() ? remove_objects(flags->object) : remove_queries(flags->query);
  };
}

}  // namespace starling::apps
