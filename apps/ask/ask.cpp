// SPDX-License-Identifier: Apache-2.0
// Adds the flags of `starling ask`, gets the answer and prints it: see ask.hpp.
#include "starling/apps/ask/ask.hpp"

#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <zmq.hpp>

#include "starling/apps/ask/ask_flags.hpp"
#include "starling/apps/ask/ask_log.hpp"
#include "starling/apps/shared/exact_flag.hpp"
#include "starling/apps/shared/server/refusal_text.hpp"
#include "starling/apps/shared/server/server_names.hpp"
#include "starling/apps/shared/text/time_line.hpp"
#include "starling/apps/shared/trace_flags.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/replay/result_csv.hpp"

namespace starling::apps {
namespace {

void check_flags(const AskFlags& flags) {
  if (!flags.journal.empty() && flags.at.empty())
    throw CLI::ValidationError("ask", "--journal needs --at: the time that the question is about");
  if (flags.exact && !flags.csv)
    throw CLI::ValidationError("--exact", "says how --csv writes distances; add --csv");
  if (flags.place.is_given() == !flags.object.empty())
    throw CLI::ValidationError(
        "ask",
        "give either a place (--lon and --lat, or --x and --y) or --object ID, whose neighbours to "
        "find");
  if (flags.place.is_given()) check_place(flags.place);
}

void print_csv(const AskFlags& flags, const Answer& answer, const sim::NameTable& names) {
  sim::ResultCsv csv("-", names, names, {.exact_distances = answer.is_vector || flags.exact});
  csv.write_tick(answer.tick, answer.tau_us, {{{.query = QueryId{0}}, answer.list}});
  csv.close();
}

constexpr const char* no_tick_yet =
    "no tick has finished yet, so nothing can be seen; ask again after the next tick";

void refuse_unknown(const AskFlags& flags, const Answer& answer) {
  if (!answer.is_unknown) return;
  if (answer.tick == Tick{0}) throw std::runtime_error(no_tick_yet);
  throw std::runtime_error("tick " + std::to_string(to_number(answer.tick)) + ", of " +
                           format_time(answer.tau_us) + ", has no object " +
                           sim::quoted_text(flags.object) +
                           ": it was never put, was removed or has expired; check the id" +
                           (flags.at.empty() ? ", or ask again after the next tick if it was just "
                                               "put"
                                             : " and --at"));
}

void say_empty(const AskFlags& flags, const Answer& answer) {
  if (!answer.list.neighbors.empty()) return;
  std::cerr << "starling ask: ";
  if (answer.tick == Tick{0})
    std::cerr << no_tick_yet << '\n';
  else if (!flags.object.empty())
    std::cerr << "no other object passes the filter, or this tick has none\n";
  else
    std::cerr << "no object passes the filter, or this tick has none\n";
}

NamedAnswer ask_server(const AskFlags& flags) {
  zmq::context_t zmq;
  protocol::Client client(zmq, client_options(flags.server, "starling ask"));
  const SpaceOptions& space = client.server().space;
  const protocol::QuerySpec question = question_of(flags, space);
  std::optional<std::int64_t> at_us;
  if (!flags.at.empty()) at_us = trace_time_us("--at", flags.at, {});
  const protocol::NeighborAnswers answers =
      value_of(client.get_neighbors({.questions = {question}, .at_us = at_us}));
  if (at_us && answers.tau_us > *at_us)
    throw std::runtime_error(
        "the server does not know --at: it is of an earlier version than this program");
  if (answers.lists.size() != 1)
    throw std::runtime_error("the server's answer has " + std::to_string(answers.lists.size()) +
                             " lists for one question");
  const Answer answer{.tick = answers.tick,
                      .tau_us = answers.tau_us,
                      .list = answers.lists.front(),
                      .is_vector = space.is_vector(),
                      .is_unknown = !answers.unknown.empty()};
  std::vector<std::uint64_t> ids;
  for (const protocol::HeldNeighbor& each : answer.list.neighbors)
    ids.push_back(to_number(each.object));
  return {answer, names_on(client, ids)};
}

int ask(const AskFlags& flags) {
  check_flags(flags);
  const auto [answer, names] = flags.journal.empty() ? ask_server(flags) : ask_log(flags);
  refuse_unknown(flags, answer);
  if (flags.csv)
    print_csv(flags, answer, names);
  else
    std::cout << (flags.json ? answer_json(answer, names) + "\n" : answer_table(answer, names));
  say_empty(flags, answer);
  return 0;
}

}  // namespace

protocol::QuerySpec question_of(const AskFlags& flags, const SpaceOptions& space) {
  protocol::QuerySpec question;
  set_filter(flags.filter, question);
  if (flags.object.empty()) {
    question.anchor = AnchorKind::fixed;
    question.position = place_in(flags.place, space.space).position;
  } else {
    question.anchor = AnchorKind::follow;
    question.object = protocol::id_of_text(flags.object);
  }
  return question;
}

std::function<int()> add_ask(CLI::App& program) {
  auto flags = std::make_shared<AskFlags>();
  CLI::App& command = *program.add_subcommand(
      "ask", "Ask a running server, or its log, for the nearest objects of a place or an object");
  add_place_flags(command, flags->place);
  command
      .add_option("--object", flags->object,
                  "Ask for the neighbours of the object with this id, which is not among them")
      ->type_name("ID");
  add_filter_flags(command, flags->filter);
  auto* json = command.add_flag("--json", flags->json, "Print one JSON object");
  command
      .add_flag("--csv", flags->csv,
                "Print CSV: tick,time_us,query_id,rank,object_id,distance_m, with query_id 0")
      ->excludes(json);
  add_exact_flag(command, flags->exact);
  command
      .add_option("--journal", flags->journal,
                  "With --at: read the log in this folder (serve --journal), and ask no server")
      ->type_name("DIR");
  command
      .add_option("--at", flags->at,
                  "Answer from the last tick at or before this time: 2022-01-03T00:10:00Z, or "
                  "seconds since 1970. The server reads its log for it")
      ->type_name("TIME");
  add_server_flags(command, flags->server);
  command.footer(
      "Examples:\n"
      "  starling ask --lon 10.75 --lat 59.91 -k 2\n"
      "  starling ask --x 0 --y 0 -k 10 --distance-max 500 --age-max 1m\n"
      "  starling ask --at 2026-11-26T12:00:00Z --object bus-3\n"
      "The answer is of the last finished tick, or of the tick of --at. Exit status: 0 done, also "
      "if no object passes;\n"
      "1 if that tick has no object --object, or the server failed; 2 wrong usage.");
  return [flags] { return ask(*flags); };
}

}  // namespace starling::apps
