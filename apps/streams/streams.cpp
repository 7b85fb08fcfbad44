// SPDX-License-Identifier: Apache-2.0
// Sends ListStreams and prints the streams by name: see streams.hpp.
#include "starling/apps/streams/streams.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <zmq.hpp>

#include "starling/apps/shared/server/refusal_text.hpp"
#include "starling/apps/shared/server/server_flags.hpp"
#include "starling/apps/shared/text/text_table.hpp"
#include "starling/knn/base/json_text.hpp"
#include "starling/knn/words/report_names.hpp"

namespace starling::apps {
namespace {

struct StreamsFlags {
  ServerFlags server;
  bool json = false;
};

std::string contents_of(const ReportWith& with) {
  std::string text;
  const auto add = [&](bool is_there, const char* word) {
    if (is_there) text += (text.empty() ? "" : ",") + std::string(word);
  };
  add(with.distance, "distance");
  add(with.position, "position");
  add(with.tags, "tags");
  return text.empty() ? "-" : text;
}

void append(JsonText& json, const protocol::ListedStream& stream) {
  json.begin_object().text("name", stream.name).text("on", name_of(stream.on));
  json.boolean("with_distance", stream.with.distance)
      .boolean("with_position", stream.with.position);
  json.boolean("with_tags", stream.with.tags).number("queries", stream.query_count);
  json.number("subscriptions", stream.subscription_count).number("sequence", stream.sequence);
  json.end_object();
}

std::string table_of(const std::vector<protocol::ListedStream>& streams) {
  using Align = TextTable::Align;
  TextTable table({{"stream"},
                   {"on"},
                   {"with"},
                   {"queries", Align::right},
                   {"subscriptions", Align::right},
                   {"sequence", Align::right}});
  for (const protocol::ListedStream& stream : streams)
    table.add_row({stream.name, std::string(name_of(stream.on)), contents_of(stream.with),
                   std::to_string(stream.query_count), std::to_string(stream.subscription_count),
                   std::to_string(stream.sequence)});
  return table.str();
}

int list_streams(const StreamsFlags& flags) {
  zmq::context_t zmq;
  protocol::Client client(zmq, client_options(flags.server, "starling streams"));
  std::vector<protocol::ListedStream> streams = value_of(client.streams());
  std::ranges::sort(streams, {}, &protocol::ListedStream::name);
  if (flags.json) {
    JsonText json;
    json.begin_array();
    for (const protocol::ListedStream& stream : streams) append(json, stream);
    std::cout << json.end_array().take() << '\n';
  } else if (streams.empty()) {
    std::cerr
        << "starling streams: the server has no streams; `starling put stream NAME` makes one\n";
  } else {
    std::cout << table_of(streams);
  }
  return 0;
}

}  // namespace

std::function<int()> add_streams(CLI::App& program) {
  auto flags = std::make_shared<StreamsFlags>();
  CLI::App& command = *program.add_subcommand("streams", "List the streams of a running server");
  command.add_flag("--json", flags->json, "Print one JSON array");
  add_server_flags(command, flags->server);
  command.footer(
      "Columns: what a report waits for (on) and carries (with), the standing queries, the\n"
      "subscriptions to the results endpoint, and the number of the last message.\n"
      "Examples:\n"
      "  starling streams\n"
      "  starling streams --json\n"
      "  starling streams --connect tcp://127.0.0.1:7411\n"
      "`starling put stream` makes a stream, `starling subscribe` follows one, and\n"
      "`starling remove stream` removes one.");
  return [flags] { return list_streams(*flags); };
}

}  // namespace starling::apps
