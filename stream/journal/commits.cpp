// SPDX-License-Identifier: Apache-2.0
// Runs functions that wait for the disk, and refuses changes while the disk is full: see
// commits.hpp.
#include "starling/stream/journal/commits.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <spdlog/spdlog.h>

#include "starling/stream/journal/records.hpp"

namespace starling::stream {

namespace {

/// No further change is applied while the buffer has fewer free bytes than this. The records of the
/// updates that are applied together need less.
constexpr std::uint64_t behind_bytes = std::uint64_t{32} << 20;
/// The same while a commit takes longer than slow_us and at least this many bytes wait: a reply
/// waits for all that is written before it.
constexpr std::uint64_t slow_backlog_bytes = std::uint64_t{4} << 20;
constexpr std::int64_t slow_us = 20'000;
/// Sessions begin and end while the buffer has at least this many free bytes. The records of a new
/// session, and of all sessions that end at one moment, need less.
constexpr std::uint64_t session_bytes = std::uint64_t{8} << 20;

}  // namespace

void Commits::begin(std::unique_ptr<log::Writer> writer) {
  writer_ = std::move(writer);
  end_ = durable_ = writer_->next_sequence();
  const log::GroupCommitOptions options{.policy = options_.durability == Durability::sync
                                                      ? log::CommitPolicy::sync
                                                      : log::CommitPolicy::tick,
                                        .buffer_bytes_max = options_.buffer_bytes_max,
                                        .begin_bytes = options_.begin_bytes,
                                        .now_us = [this] { return executor_.now_us(); }};
  log::GroupCommitHandlers handlers{
      .on_durable =
          [this](std::uint64_t place) { executor_.post([this, place] { became_durable(place); }); },
      .on_no_space =
          [this](const std::string& sentence) {
            executor_.post([this, sentence] { became_full(sentence); });
          },
      .on_failure = [this](const std::string& sentence) { failed(sentence); }};
  group_commit_ = std::make_unique<log::GroupCommit>(*writer_, options, std::move(handlers));
  if (options_.run_commits)
    options_.run_commits(*group_commit_);
  else
    group_commit_->start();
}

/// Called on the thread that makes the commits.
void Commits::failed(const std::string& sentence) {
  const std::string text = "the log in " + options_.folder + " cannot be written: " + sentence +
                           ". The server stops, and what it has not acknowledged may be lost";
  {
    const std::lock_guard lock(failing_);
    failure_ = text;
  }
  // Ends Server::run(). Requests that wait for the log are never answered.
  executor_.post([text] { throw std::runtime_error(text); });
}

std::uint64_t Commits::append(log::RecordType type, std::span<const std::byte> payload) {
  if (is_durable(end_)) waits_since_us_ = executor_.now_us();
  end_ = group_commit_->append(type, record_version, std::span(&payload, 1)) + 1;
  return end_;
}

void Commits::when_durable(std::uint64_t place, std::function<void()> then) {
  if (is_durable(place)) return then();
  waiting_.emplace(place, std::move(then));
}

std::optional<std::string> Commits::refusal() const {
  return full_ ? std::optional(full_->sentence) : std::nullopt;
}

bool Commits::is_behind() const {
  if (full_) return false;
  if (!group_commit_->has_room(behind_bytes)) return true;
  const std::uint64_t free_bytes = options_.buffer_bytes_max - slow_backlog_bytes;
  return options_.buffer_bytes_max > slow_backlog_bytes && !group_commit_->has_room(free_bytes) &&
         executor_.now_us() - waits_since_us_ > slow_us;
}

std::optional<std::string> Commits::refusal_of_session() const {
  if (full_ || group_commit_->has_room(session_bytes)) return refusal();
  return "The server's log waits for its disk; send this request again in a while.";
}

std::optional<std::int64_t> Commits::full_us() const {
  return full_ ? std::optional(executor_.now_us() - full_->since_us) : std::nullopt;
}

void Commits::became_durable(std::uint64_t place) {
  durable_ = std::max(durable_, place);
  waits_since_us_ = executor_.now_us();
  ++count_;
  if (full_) spdlog::info("the log can grow again: changes are taken and ticks begin");
  full_.reset();
  while (!waiting_.empty() && waiting_.begin()->first <= durable_) {
    const auto next = waiting_.extract(waiting_.begin());
    next.mapped()();
  }
  if (changed_) changed_();
}

void Commits::became_full(const std::string& sentence) {
  spdlog::error(
      "the log cannot grow: {}. Free space there. Until then, changes are refused and no tick "
      "begins; questions are answered",
      sentence);
  full_ = Full{"The disk of the server's log, " + options_.folder +
                   ", is full, so the server takes no changes; free space there, and send this "
                   "request and all after it again.",
               executor_.now_us()};
  if (changed_) changed_();
}

void Commits::stop() {
  if (group_commit_) group_commit_->stop();
  const std::lock_guard lock(failing_);
  if (failure_) throw std::runtime_error(*failure_);
}

}  // namespace starling::stream
