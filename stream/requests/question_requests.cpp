// SPDX-License-Identifier: Apache-2.0
// Passes questions to the engine or to the reader of the log: see question_requests.hpp.
#include "starling/stream/requests/question_requests.hpp"

#include <memory>
#include <new>
#include <span>
#include <utility>
#include <variant>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/operation/limit_table.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

constexpr ReportWith neighbors_carry{.distance = true, .position = false, .tags = false};

std::vector<QueryReport> to_reports(const Answers& answers) {
  std::vector<QueryReport> reports;
  reports.reserve(answers.lists.size());
  for (const Answers::List& list : answers.lists)
    reports.push_back({.query = QueryId{list.query},
                       .neighbors = std::span(answers.neighbors).subspan(list.first, list.count),
                       .states = {},
                       .vote = list.prediction.vote,
                       .mean = list.prediction.mean});
  return reports;
}

}  // namespace

/// The questions of a request that waits for the engine.
struct QuestionRequests::Asked {
  Caller caller;
  std::vector<OneShotQuery> questions;
  std::vector<ObjectId> objects;  ///< [question]: the object that it follows
};

void QuestionRequests::get(const Caller& caller, PreparedRequest& request) {
  const auto& body = std::get<protocol::GetNeighbors>(request.request.body);
  std::vector<OneShotQuery> questions = std::move(request.questions);
  if (body.at_us) return ask_past(caller, body, std::move(questions));
  Processor& processor = tables_.settled();
  for (std::size_t i = 0; i < questions.size(); ++i)
    if (questions[i].anchor == AnchorKind::follow)
      questions[i].object = processor.find_object(body.questions[i].object);
  last_us_ = executor_.now_us();
  if (const auto answers = processor.engine().answer_at_once(questions))
    return send(caller, *answers);
  search(caller, body, std::move(questions));
}

void QuestionRequests::search(const Caller& caller, const protocol::GetNeighbors& request,
                              std::vector<OneShotQuery> questions) {
  const std::int64_t us = estimated_us(questions);
  const auto asked = std::make_shared<Asked>();
  asked->caller = caller;
  asked->questions = std::move(questions);
  for (const auto& question : request.questions) asked->objects.push_back(question.object);
  searches_.add(payer_of(caller.peer),
                {.begin = [this, asked] { return begin_search(*asked); },
                 .refuse =
                     [this, caller] {
                       auto limit = reached("searches-max", options_);
                       replies_.refuse(caller,
                                       {ErrorCode::busy,
                                        "The engine is answering as many requests as " +
                                            to_string(limit) + " allows; ask again in 10 ms.",
                                        std::move(limit)});
                     },
                 .estimate_us = us},
                executor_.now_us());
}

/// Passes the questions to the engine. If memory runs out, refuses the request and returns false.
bool QuestionRequests::begin_search(Asked& asked) try {
  Processor& processor = tables_.settled();
  // An object's slot may have passed to another object while the question waited.
  for (std::size_t i = 0; i < asked.questions.size(); ++i)
    if (asked.questions[i].anchor == AnchorKind::follow)
      asked.questions[i].object = processor.find_object(asked.objects[i]);
  processor.engine().search_finished(
      std::move(asked.questions),
      [this, &executor = executor_, caller = asked.caller](Answers answers) {
        executor.post([this, caller, answers = std::move(answers)] {
          last_us_ = executor_.now_us();
          owners_.charge(caller, searches_.ended(payer_of(caller.peer), last_us_));
          if (!answers.error.empty()) return replies_.refuse_unanswered(caller, answers);
          try {
            send(caller, answers);
          } catch (const std::bad_alloc&) {
            replies_.refuse_for_memory(caller);
          }
        });
      });
  return true;
} catch (const std::bad_alloc&) {
  replies_.refuse_for_memory(asked.caller);
  return false;
}

/// Answers a request about the past when the log's files have all published ticks. Answers one of
/// these requests after the other, because each needs memory for tables of its own.
void QuestionRequests::ask_past(const Caller& caller, const protocol::GetNeighbors& request,
                                std::vector<OneShotQuery> questions) {
  if (past_ == nullptr)
    return replies_.refuse(
        caller, ErrorCode::bad_value,
        "This server has no log, so it knows only its last tick; ask without a time, or "
        "start it with --journal DIR.");
  if (!tables_.growth().let_grow(0)) {
    auto limit = reached("memory-bytes-max", options_);
    return replies_.refuse(
        caller, {ErrorCode::busy,
                 "The server's memory is as full as " + to_string(limit) +
                     " allows, and an answer from the log needs tables of its own; ask "
                     "again later, or read a copy of the log with starling ask --journal.",
                 std::move(limit)});
  }
  Journal& journal = *log_.journal();
  if (journal.commits().is_full() && !journal.commits().is_durable(journal.end()))
    return replies_.refuse_without_room(caller);
  const auto asked = std::make_shared<PastQuestions>(
      PastQuestions{.at_us = *request.at_us, .questions = std::move(questions), .objects = {}});
  for (const auto& question : request.questions) asked->objects.push_back(question.object);
  past_searches_.add(payer_of(caller.peer),
                     {.begin = [this, caller, asked] { return begin_past(caller, asked); },
                      .refuse =
                          [this, caller] {
                            auto limit = reached("searches-max", options_);
                            replies_.refuse(
                                caller, {ErrorCode::busy,
                                         "As many questions about the past wait as " +
                                             to_string(limit) + " allows; ask again in a second.",
                                         std::move(limit)});
                          }},
                     executor_.now_us());
}

/// Reads the log when it is on the disk up to its present end. If memory runs out, refuses the
/// request and returns false.
bool QuestionRequests::begin_past(const Caller& caller,
                                  const std::shared_ptr<PastQuestions>& asked) try {
  Journal& journal = *log_.journal();
  journal.commits().commit_now();
  const auto ask = [this, caller, asked] {
    past_->ask(std::move(*asked), [this, caller](const PastReader::Outcome& outcome) {
      send_past(caller, outcome);
      owners_.charge(caller, outcome.us);
      past_searches_.ended(payer_of(caller.peer), executor_.now_us());
    });
  };
  if (journal.commits().is_durable(journal.end())) {
    ask();
    return true;
  }
  journal.commits().when_durable(journal.end(), [this, caller, ask] {
    try {
      ask();
    } catch (const std::bad_alloc&) {
      replies_.refuse_for_memory(caller);
      past_searches_.ended(payer_of(caller.peer), executor_.now_us());
    }
  });
  return true;
} catch (const std::bad_alloc&) {
  replies_.refuse_for_memory(caller);
  return false;
}

void QuestionRequests::send_past(const Caller& caller, const PastReader::Outcome& outcome) {
  try {
    if (!outcome.refusal.empty())
      return replies_.refuse(caller, ErrorCode::bad_value, outcome.refusal);
    if (!outcome.failure.empty())
      return replies_.refuse(caller, ErrorCode::answer_failed,
                             "The server could not read its log: " + outcome.failure + ".");
    send(caller, outcome.answers);
  } catch (const std::bad_alloc&) {
    replies_.refuse_for_memory(caller);
  }
}

void QuestionRequests::send(const Caller& caller, const Answers& answers) {
  const auto reports = to_reports(answers);
  if (protocol::lists_that_fit(reports, neighbors_carry) < reports.size()) {
    auto limit = reached("chunk-bytes-max", options_);
    return replies_.refuse(caller, {ErrorCode::too_many_rows,
                                    "The answer is longer than " + to_string(limit) +
                                        " allows; ask fewer questions in one request.",
                                    std::move(limit)});
  }
  const protocol::NeighborsHead head{
      .epoch = publisher_.epoch(), .tick = answers.tick, .tau_us = answers.tau_us};
  std::vector<std::uint32_t> unknown;
  for (const Answers::List& list : answers.lists)
    if (list.is_unknown) unknown.push_back(list.query);
  const protocol::Frame frame = protocol::encode_neighbors(
      caller.reply_head(), head, tables_.space().source_of(reports, neighbors_carry), unknown);
  replies_.send_after(caller, frame, &AnswerPlaces::end_of_mark, answers.tick);
}

}  // namespace starling::stream
