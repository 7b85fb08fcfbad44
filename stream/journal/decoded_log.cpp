// SPDX-License-Identifier: Apache-2.0
// A queue of decoded records between two threads: see decoded_log.hpp.
#include "starling/stream/journal/decoded_log.hpp"

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "starling/stream/journal/record_codec.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t bytes_ahead_max = std::uint64_t{64} << 20;
/// Records are handled in parts of about this size. Both threads then have work, and updates of
/// objects in several small groups are applied together.
constexpr std::uint64_t part_bytes = std::uint64_t{4} << 20;

/// RecordQueue::push throws it, and so ends the reading thread, when no records are taken any more.
struct Stopped {};

class RecordQueue {
 public:
  /// Waits for room.
  void push(DecodedRecords part) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_stopped_ || bytes_ < bytes_ahead_max; });
    if (is_stopped_) throw Stopped();
    bytes_ += part.bytes;
    parts_.push_back(std::move(part));
    changed_.notify_all();
  }
  /// Waits for records. Returns nothing when the last ones were taken.
  std::optional<DecodedRecords> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || !parts_.empty(); });
    if (parts_.empty()) return {};
    DecodedRecords part = std::move(parts_.front());
    parts_.pop_front();
    bytes_ -= part.bytes;
    changed_.notify_all();
    return part;
  }
  /// Call close() when nothing more is pushed. pop() then returns the parts that are left, and
  /// nothing after them.
  void close() { set(is_closed_); }
  /// Call stop() when nothing more is popped. push() then throws Stopped.
  void stop() { set(is_stopped_); }

 private:
  void set(bool& flag) {
    const std::lock_guard lock(mutex_);
    flag = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<DecodedRecords> parts_;
  std::uint64_t bytes_ = 0;  ///< bytes of parts_
  bool is_closed_ = false;
  bool is_stopped_ = false;
};

template <class Handler>
log::LogSummary read_parts(log::Files& files, const log::LogRange& range, const Handler& handler) {
  DecodedRecords part;
  log::LogSummary summary = log::read_log(
      files,
      [&](const log::Group& group) {
        for (const log::Record& record : group.records) {
          part.records.push_back(decode(record));
          part.bytes += log::record_bytes(record.payload.size());
          if (part.bytes >= part_bytes) handler(std::exchange(part, {}));
        }
      },
      range);
  if (!part.records.empty()) handler(std::move(part));
  return summary;
}

}  // namespace

log::LogSummary read_decoded(log::Files& files, const log::LogRange& range,
                             const DecodedHandler& handler) {
  RecordQueue queue;
  std::future<log::LogSummary> reading = std::async(std::launch::async, [&] {
    const auto close = [](RecordQueue* each) { each->close(); };
    const std::unique_ptr<RecordQueue, decltype(close)> closing(&queue, close);
    return read_parts(files, range, [&](DecodedRecords part) { queue.push(std::move(part)); });
  });
  const auto stop = [](RecordQueue* each) { each->stop(); };
  const std::unique_ptr<RecordQueue, decltype(stop)> stopping(&queue, stop);
  while (const auto part = queue.pop()) handler(*part);
  return reading.get();
}

log::LogSummary read_decoded_here(log::Files& files, const log::LogRange& range,
                                  const DecodedHandler& handler) {
  return read_parts(files, range, [&](const DecodedRecords& part) { handler(part); });
}

}  // namespace starling::stream
