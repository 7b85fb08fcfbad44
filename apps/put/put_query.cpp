// SPDX-License-Identifier: Apache-2.0
// Sends PutStream and PutQueries: see put_query.hpp.
#include "starling/apps/put/put_query.hpp"

#include <array>
#include <iostream>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>
#include <zmq.hpp>

#include "starling/apps/shared/duration_flag.hpp"
#include "starling/apps/shared/server/refusal_text.hpp"
#include "starling/apps/shared/server/row_totals.hpp"
#include "starling/knn/base/json_text.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/knn/words/report_names.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::apps {
namespace {

void check_flags(const PutQueryFlags& flags) {
  const int anchors = (flags.place.is_given() ? 1 : 0) + (flags.follow.empty() ? 0 : 1) +
                      (flags.every_object ? 1 : 0);
  if (anchors != 1)
    throw CLI::ValidationError(
        "put query",
        "a query needs one of these: a place (--lon and --lat, or --x and --y), --follow ID, or "
        "--every-object");
  if (flags.place.is_given()) check_place(flags.place);
  if (!flags.every_object && !flags.subject.is_empty())
    throw CLI::ValidationError("--subject-required",
                               "only a query with --every-object has subjects");
}

/// Sends the server the name of a query whose id is a text, so that subscribers can show the name.
/// Throws std::runtime_error if the server has another text with the same hash, because the query
/// would replace the query of this other text.
void put_name(protocol::Client& client, const std::string& text) {
  if (protocol::is_decimal_id(text)) return;
  const std::array ids{to_number(protocol::id_of_text(text))};
  const auto reply = value_of(client.put_names({.ids = ids, .texts = {text}}));
  for (const protocol::ReasonCount& each : reply.reasons) {
    const std::string why = rejection_text(each.reason, each.limit);
    if (each.reason == protocol::RowReason::name_collision)
      throw std::runtime_error("the query " + sim::quoted_text(text) + " is refused: " + why);
    std::cerr << "starling put: the query " << sim::quoted_text(text)
              << " has no name: " << plain_text(why) << '\n';
  }
}

}  // namespace

int put_stream(const PutStreamFlags& flags) {
  zmq::context_t zmq;
  protocol::Client client(zmq, client_options(flags.server, "starling put stream"));
  value_of(client.put_stream({.name = flags.name,
                              .on = report_on_named(flags.on).value(),
                              .with = {.distance = flags.with_distance == "true",
                                       .position = flags.with_position,
                                       .tags = flags.with_tags}}));
  if (flags.json)
    std::cout << JsonText()
                     .begin_object()
                     .text("stream", flags.name)
                     .text("on", flags.on)
                     .end_object()
                     .take()
              << '\n';
  else
    std::cout << "the stream " << sim::quoted_text(flags.name) << " reports changes of " << flags.on
              << '\n';
  return 0;
}

int put_query(const PutQueryFlags& flags) {
  check_flags(flags);
  zmq::context_t zmq;
  protocol::Client client(zmq, client_options(flags.server, "starling put query"));
  const Space space = client.server().space.space;
  protocol::QuerySpec query{.id = QueryId{to_number(protocol::id_of_text(flags.id))}};
  set_filter(flags.filter, query);
  if (flags.place.is_given()) {
    query.anchor = AnchorKind::fixed;
    query.position = place_in(flags.place, space).position;
  } else if (flags.every_object) {
    query.anchor = AnchorKind::every_object;
    query.subject = flags.subject;
  } else {
    query.anchor = AnchorKind::follow;
    query.object = protocol::id_of_text(flags.follow);
  }
  if (!flags.lease.empty())
    query.lease_ms = static_cast<std::uint64_t>(duration_us(flags.lease)) / 1000;

  put_name(client, flags.id);
  RowTotals totals;
  totals.add(
      value_of(client.put_queries({.stream = flags.stream, .queries = {query}}), flags.stream));
  print_totals(totals, flags.json, std::cout);
  return totals.rejected > 0 ? 1 : 0;
}

}  // namespace starling::apps
