// SPDX-License-Identifier: Apache-2.0
// Runs a LogRun beside the loop: see past_reader.hpp.
#include "starling/stream/recovery/past_reader.hpp"

#include <exception>
#include <new>
#include <utility>
namespace starling::stream {

BeforeTheLog::BeforeTheLog(std::optional<std::int64_t> first)
    : std::runtime_error(
          "the server's log has no tick at or before that time" +
          (first ? ": its first one is of " + std::to_string(*first) + " us since 1970" : "") +
          ". How far back it goes is set with --journal-keep."),
      first_us(first) {}

Answers answer_from(LogRun& log, PastQuestions asked) {
  if (!log.go_to(asked.at_us)) throw BeforeTheLog(log.first_us());
  const Processor& processor = log.tables().processor();
  for (std::size_t i = 0; i < asked.questions.size(); ++i)
    if (asked.questions[i].anchor == AnchorKind::follow)
      asked.questions[i].object = processor.find_object(asked.objects[i]);
  return log.tables().ask(std::move(asked.questions));
}

PastReader::PastReader(Executor& executor, OpenLog open, EngineMaker make_engine)
    : executor_(executor),
      open_(std::move(open)),
      make_engine_(std::move(make_engine)),
      thread_(executor.make_threads(1, ThreadPriority::low)) {}

void PastReader::ask(PastQuestions questions, std::function<void(const Outcome&)> answered) {
  const auto asked = std::make_shared<PastQuestions>(std::move(questions));
  const auto outcome = std::make_shared<Outcome>();
  thread_->post([this, asked, outcome, answered = std::move(answered)] {
    const std::int64_t since_us = executor_.worked_us();
    answer_beside(std::move(*asked), *outcome);
    outcome->us = executor_.worked_us() - since_us;
    executor_.post([this, outcome, answered] { answered(*outcome); });
  });
}

void PastReader::answer_beside(PastQuestions questions, Outcome& outcome) const {
  try {
    const auto files = open_();
    LogRun log(*files, {.make_engine = make_engine_,
                        .from_us = questions.at_us,
                        .until_us = questions.at_us,
                        .is_cancelled = [this] { return is_cancelled_.load(); }});
    outcome.answers = answer_from(log, std::move(questions));
  } catch (const BeforeTheLog& error) {
    outcome.refusal = error.what();
  } catch (const std::bad_alloc&) {
    outcome.failure = "no memory";
  } catch (const std::exception& error) {
    outcome.failure = error.what();
  }
}

}  // namespace starling::stream
