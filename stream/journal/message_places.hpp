// SPDX-License-Identifier: Apache-2.0
// Finds the place of the log that the messages of a tick carry. The messages follow from the
// records before it, so a log that runs again gives the same place. AnswerPlaces and LogReplay use
// it.
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
  /// Ticks finish in the order in which they began. Later messages follow from the end of a failed
  /// tick, too: if the log lost this end, the tick would succeed after a restart.
  void tick_finished(bool has_failed, std::uint64_t end) {
    if (has_failed) end_of_changes_ = end;
    if (marks_.empty()) return;
    of_messages_ = std::max(marks_.front(), end_of_changes_);
    marks_.pop_front();
  }

  /// The place of the messages of the tick that finished last.
  std::uint64_t of_messages() const { return of_messages_; }
  /// The place after the last change of a stream or the end of the last failed tick, whichever came
  /// later.
  std::uint64_t end_of_changes() const { return end_of_changes_; }

 private:
  std::deque<std::uint64_t> marks_;  ///< the places after the marks of ticks under way, in order
  std::uint64_t end_of_changes_ = 0;
  std::uint64_t of_messages_ = 0;
};

}  // namespace starling::stream
