// SPDX-License-Identifier: Apache-2.0
// Encodes, holds back and sends the messages of ticks: see tick_messages.hpp.
#include "starling/stream/publishing/tick_messages.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

namespace starling::stream {

namespace {

// Sending this many messages takes about 50 us.
constexpr std::size_t messages_per_step = 64;

/// Returns whether the tick's messages are encoded on the loop. On the workload W3, with two cores,
/// handing them to a worker takes longer.
bool is_small(const TickReport& report) {
  constexpr std::size_t streams_max = 16;
  constexpr std::size_t lists_max = 2048;
  constexpr std::uint64_t neighbors_max = 16'384;
  const std::span<const ReportedList> lists = report.result->lists;
  if (report.streams.size() > streams_max || lists.size() > lists_max) return false;
  std::uint64_t neighbors = 0;
  for (const ReportedList& list : lists) neighbors += list.count;
  return neighbors <= neighbors_max;
}

}  // namespace

/// A tick whose messages are being encoded, wait for the log, or are being sent.
struct TickMessages::Encoded {
  std::shared_ptr<TickReport> report;
  TickTimeline timeline;
  TickFinished finished;
  std::vector<StreamPlan> plans;
  std::uint64_t after = 0;  ///< the place of the log that the messages wait for
  bool has_memory = true;   ///< false: memory ran out during encoding
  std::vector<protocol::TickMessage> messages{};
  TickOutcome outcome{};
  std::uint64_t bytes = 0;
  std::size_t sent = 0;         ///< number of messages sent
  PublishedRecord published{};  ///< the tick's record, if there is a log
};

TickMessages::TickMessages(Parts parts)
    : executor_(parts.executor),
      tables_(parts.tables),
      journal_(parts.journal),
      publisher_(parts.publisher),
      results_(parts.results),
      watch_(parts.watch),
      publishing_(std::move(parts.publishing)),
      ended_(std::move(parts.ended)),
      sending_(parts.executor),
      helpers_(parts.encode_threads - 1),
      encoder_(parts.executor, 1) {}

void TickMessages::publish(const std::shared_ptr<TickReport>& report, TickTimeline timeline,
                           TickFinished finished) {
  const auto tick = std::make_shared<Encoded>(Encoded{report, timeline, std::move(finished), {}});
  const std::uint64_t place = journal_ == nullptr ? 0 : journal_->places().of_messages();
  tick->plans = publisher_.plan(*report, tables_.processor().queries(), place);
  if (journal_ != nullptr) tick->after = journal_->places().end_of_messages(report->tick);
  tick->timeline.sorted_us = executor_.now_us();
  auto work = [this, tick]() -> OrderedPool::Completion {
    encode(*tick);
    return [this, tick] { when_logged(tick); };
  };
  if (is_small(*report))
    encoder_.submit_done(work());
  else
    encoder_.submit(std::move(work));
}

/// May run on a worker.
void TickMessages::encode(Encoded& tick) {
  tick.timeline.encode_us = executor_.now_us();
  try {
    tick.messages = encode_report(tick.plans, *tick.report, tables_.space(), helpers_);
  } catch (const std::bad_alloc&) {
    tick.has_memory = false;
    tick.plans = {};
    return;
  }
  for (const protocol::TickMessage& message : tick.messages) tick.bytes += message.bytes();
  if (tick.finished) tick.outcome = outcome_of(*tick.report);
  if (journal_ != nullptr)
    tick.published = {.tick = tick.report->tick,
                      .messages = static_cast<std::uint32_t>(tick.messages.size()),
                      .hash = hash_of(tick.messages)};
  tick.timeline.encoded_us = executor_.now_us();
}

/// Sends the messages, or loses them, when all records that they follow from are on the disk.
void TickMessages::when_logged(const std::shared_ptr<Encoded>& tick) {
  ++encoded_count_;
  auto then = [this, tick] { tick->has_memory ? send(tick) : lose(*tick); };
  if (journal_ == nullptr) return then();
  journal_->commits().when_durable(tick->after, std::move(then));
}

/// Passes the messages to the results socket in slices, because thousands of them would hold the
/// loop.
void TickMessages::send(const std::shared_ptr<Encoded>& tick) {
  publishing_(tick->plans, tick->messages);
  sending_.start(
      [this, tick] {
        const auto rest = std::span(tick->messages).subspan(tick->sent);
        const auto some = rest.first(std::min(rest.size(), messages_per_step));
        results_.send(some, tick->messages.size());
        tick->sent += some.size();
        return some.size() == rest.size();
      },
      [this, tick] { end(*tick); });
}

void TickMessages::end(Encoded& tick) {
  --encoded_count_;
  if (journal_ != nullptr) journal_->append(tick.published);
  tick.timeline.sent_us = executor_.now_us();
  watch_.published(tick.timeline, tick.bytes);
  publisher_.give_back(std::move(tick.plans));
  *tick.report = {};  // frees memory for the next tick, which `finished` may begin
  if (tick.finished) tick.finished(tick.outcome);
  ended_();
}

/// Ends a tick whose messages were lost because memory ran out. Subscribers see the gap in the
/// numbers of messages and ask for a snapshot.
void TickMessages::lose(Encoded& tick) {
  --encoded_count_;
  const std::string error = "there was no memory for the tick's messages";
  watch_.failed(tick.report->tick, error);
  TickOutcome outcome;
  if (tick.finished) outcome.error = error;
  *tick.report = {};
  if (tick.finished) tick.finished(outcome);
  ended_();
}

}  // namespace starling::stream
