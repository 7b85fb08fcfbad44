// SPDX-License-Identifier: Apache-2.0
// Finds the place of the log before which all records are that the messages of a tick follow from.
// A server's messages carry the place, and a log that runs again gives the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace starling::stream {

/// Call its functions for the records of a log, in order. `end` is the place after the record.
class MessagePlaces {
 public:
  void tick_begun(std::uint64_t end) { marks_.push_back(end); }
  void stream_changed(std::uint64_t end) { end_of_changes_ = end; }
  /// Ticks finish in the order in which they began. A tick that has failed would succeed after a
  /// restart if the log lost its end.
  void tick_finished(bool has_failed, std::uint64_t end) {
    if (has_failed) end_of_changes_ = end;
    if (marks_.empty()) return;
    of_messages_ = std::max(marks_.front(), end_of_changes_);
    marks_.pop_front();
  }

  /// The place of the messages of the tick that finished last.
  std::uint64_t of_messages() const { return of_messages_; }
  /// The place after the last change of a stream, and after the end of the last failed tick.
  std::uint64_t end_of_changes() const { return end_of_changes_; }

 private:
  std::deque<std::uint64_t> marks_;  ///< the ends of the marks of ticks under way
  std::uint64_t end_of_changes_ = 0;
  std::uint64_t of_messages_ = 0;
};

}  // namespace starling::stream
