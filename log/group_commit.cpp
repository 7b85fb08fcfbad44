// SPDX-License-Identifier: Apache-2.0
// Defines when groups are committed: see group_commit.hpp.
#include "starling/log/group_commit.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/insist.hpp"

namespace starling::log {

GroupCommit::GroupCommit(Writer& writer, GroupCommitOptions options, GroupCommitHandlers handlers)
    : writer_(writer),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      pending_(writer.next_sequence()),
      taken_(writer.next_sequence()),
      next_records_(writer.next_sequence()) {
  check_invariant(options_.buffer_bytes_max <= group_bytes_max, "a group is shorter than that");
}

bool GroupCommit::has_room(std::uint64_t payload_bytes) const {
  const std::lock_guard lock(mutex_);
  return has_room_locked(payload_bytes);
}

bool GroupCommit::has_failed() const {
  const std::lock_guard lock(mutex_);
  return has_failed_;
}

bool GroupCommit::has_room_locked(std::uint64_t payload_bytes) const {
  if (has_failed_ || is_stopping_ || is_full_ || !pending_.has_room(payload_bytes)) return false;
  if (pending_.is_empty() && taken_bytes_ == 0) return true;
  return pending_.bytes() + taken_bytes_ + record_bytes(payload_bytes) <= options_.buffer_bytes_max;
}

std::uint64_t GroupCommit::append(RecordType type, std::uint16_t version,
                                  std::span<const std::span<const std::byte>> parts) {
  std::uint64_t payload_bytes = 0;
  for (const auto part : parts) payload_bytes += part.size();
  const std::lock_guard lock(mutex_);
  // The disk may have become full, or failed, since has_room was called. The record then waits.
  check_invariant(pending_.has_room(payload_bytes), "a record is appended without room for it");
  const bool is_first = pending_.is_empty() && !has_begun_;
  if (is_first) first_waits_us_ = options_.now_us();
  const std::uint64_t sequence = pending_.append(type, version, parts);
  if (is_first || due_in_us_locked() == 0) changed_.notify_one();
  return sequence;
}

void GroupCommit::commit_now() {
  const std::lock_guard lock(mutex_);
  is_asked_ = !pending_.is_empty() || has_begun_;
  changed_.notify_one();
}

std::int64_t GroupCommit::due_in_us() const {
  const std::lock_guard lock(mutex_);
  return due_in_us_locked();
}

std::int64_t GroupCommit::due_in_us_locked() const {
  if (has_failed_) return -1;
  if (is_full_ && !is_stopping_) return std::max<std::int64_t>(retry_us_ - options_.now_us(), 0);
  if (pending_.is_empty() && taken_bytes_ == 0) return -1;
  if (is_commit_due_locked()) return 0;
  if (!pending_.is_empty() && pending_.bytes() >= options_.begin_bytes) return 0;
  return std::max<std::int64_t>(first_waits_us_ + options_.delay_us - options_.now_us(), 0);
}

bool GroupCommit::is_commit_due_locked() const {
  return is_full_ || options_.policy == CommitPolicy::sync || is_asked_ || is_stopping_ ||
         pending_.bytes() + taken_bytes_ >= options_.buffer_bytes_max / 2 ||
         options_.now_us() - first_waits_us_ >= options_.delay_us;
}

/// Moves the waiting records to taken_. Returns true if taken_ must be committed now, and false if
/// it may grow.
bool GroupCommit::take_records() {
  bool may_grow = false;
  {
    const std::lock_guard lock(mutex_);
    const bool is_commit_due = is_commit_due_locked();
    const bool has_begun = std::exchange(has_begun_, false);
    const std::uint64_t next = pending_.next_sequence();
    if (taken_bytes_ == 0) {
      std::swap(pending_, taken_);
      taken_bytes_ = taken_.bytes();
    } else if (has_begun && writer_.has_room(taken_bytes_ + pending_.bytes() - commit_bytes)) {
      std::swap(pending_, next_records_);
      taken_bytes_ += next_records_.bytes() - commit_bytes;
    } else {
      return true;  // taken_ fills its segment, or is tried again after NoSpace
    }
    pending_.restart(next);
    is_asked_ = false;
    may_grow = !is_commit_due && writer_.has_room(taken_bytes_);
    has_begun_ = may_grow;
  }
  if (!next_records_.is_empty()) taken_.append_group(next_records_);
  next_records_.restart(taken_.next_sequence());
  return !may_grow;
}

bool GroupCommit::step() {
  if (due_in_us() != 0) return false;
  try {
    if (!take_records()) {
      writer_.begin(taken_);
      return true;
    }
    writer_.commit(taken_);
  } catch (const NoSpace& error) {
    end_without_space(error);
    return true;
  } catch (const WriterDead& error) {
    fail(error.what());
    return true;
  } catch (const std::bad_alloc&) {
    fail("there is no memory to write what waits; give the server more, and start it again");
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    taken_.restart(taken_.next_sequence());
    taken_bytes_ = 0;
    is_full_ = false;
  }
  if (handlers_.on_durable) insist([&] { handlers_.on_durable(writer_.next_sequence()); });
  return true;
}

void GroupCommit::end_without_space(const NoSpace& error) {
  bool was_full = false;
  bool is_stopping = false;
  {
    const std::lock_guard lock(mutex_);
    was_full = std::exchange(is_full_, true);
    is_stopping = is_stopping_;
    retry_us_ = options_.now_us() + options_.space_retry_us;
  }
  if (is_stopping) return fail(error.what(), "; make room, and start the server again");
  if (!was_full && handlers_.on_no_space) insist([&] { handlers_.on_no_space(error.what()); });
}

void GroupCommit::fail(const char* sentence, const char* advice) {
  {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
  }
  if (handlers_.on_failure) insist([&] { handlers_.on_failure(std::string(sentence) + advice); });
}

void GroupCommit::start() {
  thread_ = std::thread([this] { run(); });
}

void GroupCommit::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_stopping_, true)) return;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  while (step()) {
  }
}

void GroupCommit::run() {
  for (;;) {
    while (step()) {
    }
    std::unique_lock lock(mutex_);
    const std::int64_t due_us = due_in_us_locked();
    if (due_us == 0) continue;
    if (is_stopping_ || has_failed_) return;
    if (due_us < 0)
      changed_.wait(lock);
    else
      changed_.wait_for(lock, std::chrono::microseconds(due_us));
  }
}

}  // namespace starling::log
