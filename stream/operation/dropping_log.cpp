// SPDX-License-Identifier: Apache-2.0
// A bounded queue between the callers and the thread that writes: see dropping_log.hpp.
#include "starling/stream/operation/dropping_log.hpp"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <optional>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "starling/knn/base/plain_text.hpp"

namespace starling::stream {

namespace {

/// Writes all of `text`. Returns false if the descriptor takes no more, for example because the
/// reader of a pipe has gone.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      pollfd writable{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
    } else if (count == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::string_view color_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::info:
      return "\033[32m";
    case spdlog::level::warn:
      return "\033[33m\033[1m";
    case spdlog::level::err:
      return "\033[31m\033[1m";
    case spdlog::level::critical:
      return "\033[1m\033[41m";
    default:
      return "\033[36m";
  }
}

}  // namespace

struct DroppingLog::Queue {
  struct Line {
    std::string text;
    std::uint64_t reported = 0;  ///< number of dropped lines that `text` reports
    std::uint64_t lines = 1;     ///< 0: `text` is only a report
  };

  explicit Queue(const DroppingLogOptions& the_options) : options(the_options) {}

  bool is_full() const { return lines.size() >= options.lines_max || bytes >= options.bytes_max; }

  /// Returns the text that reports the lines missing before the next line.
  std::string report() const { return options.report_of(unreported) + "\n"; }

  void push(std::string text) {
    const std::lock_guard lock(mutex);
    if (is_closed || is_full()) {
      ++dropped;
      ++unreported;
      return;
    }
    Line line{.text = std::move(text), .reported = unreported};
    if (unreported > 0) line.text = report() + line.text;
    unreported = 0;
    bytes += line.text.size();
    lines.push_back(std::move(line));
    changed.notify_all();
  }

  /// Waits for the next line and takes it. If the queue is empty, reports dropped lines as soon as
  /// writing works again. Returns std::nullopt when the queue is closed and empty.
  std::optional<Line> take(std::unique_lock<std::mutex>& lock) {
    const auto may_report = [&] { return unreported > 0 && works && !is_closed; };
    changed.wait(lock, [&] { return !lines.empty() || may_report() || is_closed; });
    if (!lines.empty()) {
      Line line = std::move(lines.front());
      lines.pop_front();
      bytes -= line.text.size();
      return line;
    }
    if (!may_report()) return std::nullopt;
    Line only_report{.text = report(), .reported = unreported, .lines = 0};
    unreported = 0;
    return only_report;
  }

  void write_lines() {
    std::unique_lock lock(mutex);
    while (const auto line = take(lock)) {
      lock.unlock();
      const bool is_written = write_all(options.descriptor, line->text);
      lock.lock();
      works = is_written;
      if (is_written) continue;
      dropped += line->lines;
      unreported += line->reported + line->lines;
    }
    is_done = true;
    changed.notify_all();
  }

  DroppingLogOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Line> lines;
  std::size_t bytes = 0;         ///< bytes of `lines`
  std::uint64_t dropped = 0;     ///< number of lines dropped since the start
  std::uint64_t unreported = 0;  ///< number of dropped lines that no line reports yet
  bool works = true;             ///< whether the last line was written
  bool is_closed = false;
  bool is_done = false;  ///< the thread has written all lines of the closed queue
};

DroppingLog::DroppingLog(const DroppingLogOptions& options)
    : queue_(std::make_shared<Queue>(options)),
      writer_([queue = queue_] { queue->write_lines(); }) {}

DroppingLog::~DroppingLog() {
  close(std::chrono::milliseconds(0));
}

std::uint64_t DroppingLog::dropped() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->dropped;
}

// The thread cannot be ended while it waits for a reader. It is then detached.
bool DroppingLog::close(std::chrono::milliseconds patience) {
  if (!writer_.joinable()) return true;
  std::unique_lock lock(queue_->mutex);
  queue_->is_closed = true;
  queue_->changed.notify_all();
  const bool is_done = queue_->changed.wait_for(lock, patience, [&] { return queue_->is_done; });
  lock.unlock();
  if (is_done)
    writer_.join();
  else
    writer_.detach();
  return is_done;
}

void DroppingLog::sink_it_(const spdlog::details::log_msg& message) {
  const std::string payload = plain_text({message.payload.data(), message.payload.size()});
  spdlog::details::log_msg safe = message;
  safe.payload = payload;
  spdlog::memory_buf_t formatted;
  formatter_->format(safe, formatted);
  std::string line(formatted.data(), formatted.size());
  if (queue_->options.has_colors && safe.color_range_end > safe.color_range_start) {
    line.insert(safe.color_range_end, "\033[m");
    line.insert(safe.color_range_start, color_of(message.level));
  }
  queue_->push(std::move(line));
}

}  // namespace starling::stream
