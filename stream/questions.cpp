// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler that pass questions to the engine. A question that the engine
// does not answer at once waits in a FairQueue, which serves the connections in turn.
#include <memory>
#include <new>
#include <utility>

#include "starling/stream/limit_table.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

// About what a question and each neighbour in its answer take. The queue learns the rest.
constexpr double us_per_question = 10;
constexpr double us_per_neighbor = 0.2;

std::int64_t estimate_us(std::span<const OneShotQuery> questions) {
  double us = 0;
  for (const OneShotQuery& question : questions)
    us += us_per_question + us_per_neighbor * question.k;
  return static_cast<std::int64_t>(us);
}

}  // namespace

/// Questions that wait for their turn.
struct RequestHandler::AskedQuestions {
  Caller caller;
  std::vector<OneShotQuery> questions;
  std::vector<ObjectId> objects;  ///< of the questions that follow one
};

void RequestHandler::search(const Caller& caller, const protocol::GetNeighbors& request,
                            std::vector<OneShotQuery> questions) {
  const std::int64_t us = estimate_us(questions);
  const auto asked = std::make_shared<AskedQuestions>();
  asked->caller = caller;
  asked->questions = std::move(questions);
  for (const auto& question : request.questions) asked->objects.push_back(question.object);
  searches_.add(payer_of(caller.peer),
                {.begin = [this, asked] { return begin_search(*asked); },
                 .refuse =
                     [this, caller] {
                       auto limit = reached("searches-max", options_);
                       refuse(caller, {ErrorCode::busy,
                                       "The engine is answering as many requests as " +
                                           to_string(limit) + " allows; ask again in 10 ms.",
                                       std::move(limit)});
                     },
                 .estimate_us = us},
                parts_.executor.now_us());
}

/// One question about the past is answered at a time, because each needs the memory of further
/// tables. It waits until the log's files have all ticks that have been published.
void RequestHandler::ask_past(const Caller& caller, const protocol::GetNeighbors& request,
                              std::vector<OneShotQuery> questions) {
  if (parts_.past == nullptr)
    return refuse(caller, ErrorCode::bad_value,
                  "This server has no log, so it knows only its last tick; ask without a time, or "
                  "start it with --journal DIR.");
  if (!parts_.tables.growth().let_grow(0)) {
    auto limit = reached("memory-bytes-max", options_);
    return refuse(caller,
                  {ErrorCode::busy,
                   "The server's memory is as full as " + to_string(limit) +
                       " allows, and an answer from the log needs tables of its own; ask "
                       "again later, or read a copy of the log with starling ask --journal.",
                   std::move(limit)});
  }
  Journal& journal = *parts_.journal;
  if (journal.refusal() && !journal.is_durable(journal.end())) return refuse_without_room(caller);
  const auto asked = std::make_shared<PastQuestions>(
      PastQuestions{.at_us = *request.at_us, .questions = std::move(questions), .objects = {}});
  for (const auto& question : request.questions) asked->objects.push_back(question.object);
  journal.commit_now();
  journal.when_durable(journal.end(), [this, caller, asked] {
    if (parts_.past->is_busy())
      return refuse(caller, ErrorCode::busy,
                    "The server reads its log for another question about the past; ask again in a "
                    "second.");
    parts_.past->ask(std::move(*asked), [this, caller](const PastReader::Outcome& outcome) {
      send_past(caller, outcome);
    });
  });
}

void RequestHandler::send_past(const Caller& caller, const PastReader::Outcome& outcome) {
  try {
    if (!outcome.refusal.empty()) return refuse(caller, ErrorCode::bad_value, outcome.refusal);
    if (!outcome.failure.empty())
      return refuse(caller, ErrorCode::answer_failed,
                    "The server could not read its log: " + outcome.failure + ".");
    send_neighbors(caller, outcome.answers);
  } catch (const std::bad_alloc&) {
    refuse_for_memory(caller);
  }
}

/// Passes the questions to the engine. Returns false if they are answered already: with a refusal,
/// because memory has run out.
bool RequestHandler::begin_search(AskedQuestions& asked) try {
  // An object's slot may have passed to another object while the question waited.
  for (std::size_t i = 0; i < asked.questions.size(); ++i)
    if (asked.questions[i].anchor == AnchorKind::follow)
      asked.questions[i].object = parts_.tables.settled().find_object(asked.objects[i]);
  parts_.tables.settled().engine().search_finished(
      std::move(asked.questions),
      [this, &executor = parts_.executor, caller = asked.caller](Answers answers) {
        executor.post([this, caller, answers = std::move(answers)] {
          last_question_us_ = parts_.executor.now_us();
          searches_.ended(payer_of(caller.peer), last_question_us_);
          if (!answers.error.empty()) return refuse_unanswered(caller, answers);
          try {
            send_neighbors(caller, answers);
          } catch (const std::bad_alloc&) {
            refuse_for_memory(caller);
          }
        });
      });
  return true;
} catch (const std::bad_alloc&) {
  refuse_for_memory(asked.caller);
  return false;
}

}  // namespace starling::stream
