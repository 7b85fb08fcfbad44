// SPDX-License-Identifier: Apache-2.0
// Replays a log up to a tick of the past, and answers from its tables: see ask_log.hpp.
#include "starling/apps/ask/ask_log.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/text/time_line.hpp"
#include "starling/apps/shared/trace_flags.hpp"
#include "starling/log/system_files.hpp"
#include "starling/protocol/rows/conversions.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/stream/recovery/past_reader.hpp"

namespace starling::apps {
namespace {

[[noreturn]] void refuse_time(const AskFlags& flags, const stream::BeforeTheLog& error) {
  throw std::runtime_error(
      "the log in " + flags.journal + " has no tick at or before " + flags.at +
      (error.first_us ? ": its first one is of " + format_time(*error.first_us) : "") +
      ". What is older than serve --journal-keep says is removed from a log");
}

Answer answer_of(const Answers& answers, const Processor& processor) {
  if (!answers.error.empty()) throw std::runtime_error(answers.error);
  Answer answer{.tick = answers.tick,
                .tau_us = answers.tau_us,
                .list = {},
                .is_vector = processor.space().is_vector()};
  const Answers::List& list = answers.lists.at(0);
  answer.is_unknown = list.is_unknown;
  for (std::uint64_t i = list.first; i < list.first + list.count; ++i)
    answer.list.neighbors.push_back(
        {answers.neighbors[i].object, processor.to_distance(answers.neighbors[i].key)});
  return answer;
}

}  // namespace

NamedAnswer ask_log(const AskFlags& flags) {
  const std::int64_t at_us = trace_time_us("--at", flags.at, {});
  const auto files = log::open_folder(flags.journal, log::FolderUse::read);
  stream::LogRun log(*files, {.make_engine = snapshot_engine, .from_us = at_us, .until_us = at_us});
  const protocol::GetNeighbors request{.questions = {question_of(flags, log.space())}};
  stream::PastQuestions asked{
      .at_us = at_us, .questions = {}, .objects = {request.questions[0].object}};
  const protocol::ServedSpace space(log.space());
  if (const auto problem = protocol::convert_questions(request, space, asked.questions))
    throw std::runtime_error(problem->sentence);
  NamedAnswer named;
  try {
    const Answers answers = stream::answer_from(log, std::move(asked));
    named.answer = answer_of(answers, log.tables().processor());
  } catch (const stream::BeforeTheLog& error) {
    refuse_time(flags, error);
  }
  for (const protocol::HeldNeighbor& each : named.answer.list.neighbors)
    if (const auto text = log.tables().names().find(each.object); !text.empty())
      named.names.put(to_number(each.object), text);
  return named;
}

}  // namespace starling::apps
