// SPDX-License-Identifier: Apache-2.0
// Appends records to a server's log, runs functions when records are on the disk, and says whether
// the log takes more. Journal appends through Commits; replies and the messages of ticks wait here.
// A thread of log::GroupCommit makes the commits, and reports to the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "starling/log/group_commit.hpp"
#include "starling/log/record.hpp"
#include "starling/log/writer.hpp"
#include "starling/stream/journal/journal_options.hpp"
#include "starling/stream/pools/executor.hpp"

namespace starling::stream {

/// Only the loop calls the functions. A place is the number of a record, and stands for all records
/// before that one. The record itself may come later.
class Commits {
 public:
  /// `options` must outlive the commits.
  Commits(Executor& executor, const JournalOptions& options)
      : executor_(executor), options_(options) {}

  /// From now on, records are appended with `writer`.
  void begin(std::unique_ptr<log::Writer> writer);
  /// Appends a record, and returns the place after it.
  std::uint64_t append(log::RecordType type, std::span<const std::byte> payload);
  void commit_now() { group_commit_->commit_now(); }
  /// Commits the records that wait, and ends the commits. Throws std::runtime_error if the log
  /// fails now or has failed before.
  void stop();

  /// The place after the last record.
  std::uint64_t end() const { return end_; }
  /// All records before this place are on the disk.
  std::uint64_t durable() const { return durable_; }
  bool is_durable(std::uint64_t place) const { return place <= durable_; }
  /// Runs `then` on the loop when all records before `place` are on the disk. If they already are,
  /// runs it before when_durable() returns.
  void when_durable(std::uint64_t place, std::function<void()> then);
  /// Returns whether all records are on the disk, and nothing waits.
  bool is_settled() const { return is_durable(end_) && waiting_.empty(); }

  /// Whether the log takes no changes because its disk is full.
  bool is_full() const { return full_.has_value(); }
  /// Why the log takes no changes now; std::nullopt: it takes changes.
  std::optional<std::string> refusal() const;
  /// Why the log cannot take the begin or the end of a session now; std::nullopt: it can.
  /// is_behind() does not hold sessions back, so their records need room of their own.
  std::optional<std::string> refusal_of_session() const;
  /// Whether the log has failed. The server ends then, and acknowledges nothing more.
  bool has_failed() const { return group_commit_->has_failed(); }
  /// Whether too many bytes wait for the disk, or many for too long. No further change should be
  /// applied then.
  bool is_behind() const;
  /// Sets the function that is called when is_behind() or refusal() may have changed, or when
  /// records came to the disk.
  void watch(std::function<void()> changed) { changed_ = std::move(changed); }

  /// Number of commits since begin().
  std::uint64_t count() const { return count_; }
  /// How long the disk has been full; std::nullopt: it has room.
  std::optional<std::int64_t> full_us() const;

 private:
  struct Full {
    std::string sentence;
    std::int64_t since_us = 0;  ///< a time of the steady clock
  };

  void became_durable(std::uint64_t place);
  void became_full(const std::string& sentence);
  void failed(const std::string& sentence);

  Executor& executor_;
  const JournalOptions& options_;
  std::unique_ptr<log::Writer> writer_;
  std::uint64_t end_ = 0;
  std::uint64_t durable_ = 0;
  /// Since when the oldest record waits for the disk: when it was appended, or the end of the last
  /// commit.
  std::int64_t waits_since_us_ = 0;
  /// The key is the place that the function waits for.
  std::multimap<std::uint64_t, std::function<void()>> waiting_;
  std::optional<Full> full_;  ///< std::nullopt: the last commit found space
  std::function<void()> changed_;
  std::uint64_t count_ = 0;
  std::mutex failing_;
  std::optional<std::string> failure_;  ///< guarded by failing_
  /// Declared last, so that its thread ends before the other members are destroyed.
  std::unique_ptr<log::GroupCommit> group_commit_;
};

}  // namespace starling::stream
