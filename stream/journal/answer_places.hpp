// SPDX-License-Identifier: Apache-2.0
// The places of the log that messages, answers and snapshots wait for. Journal reports the
// records of ticks and the changes of streams and queries. TickMessages and Replies read the
// places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "starling/knn/words/types.hpp"
#include "starling/stream/journal/message_places.hpp"

namespace starling::stream {

class AnswerPlaces {
 public:
  /// `ticks_under_way` is the number of ticks that had begun and not finished when the log ended.
  void begin(std::uint64_t ticks_under_way) { under_way_ = ticks_under_way; }

  // `end` is the place after the record. All records before `durable` are on the disk.
  void tick_begun(Tick tick, std::uint64_t end, std::uint64_t durable) {
    ++under_way_;
    messages_.tick_begun(end);
    while (!marks_.empty() && marks_.front().second <= durable) marks_.pop_front();
    marks_.emplace_back(tick, end);
  }
  void tick_finished(bool has_failed, std::uint64_t end) {
    messages_.tick_finished(has_failed, end);
    --under_way_;
  }
  void stream_changed(std::uint64_t end) { messages_.stream_changed(end); }
  void queries_changed(std::uint64_t end) { end_of_queries_ = end; }

  bool is_tick_under_way() const { return under_way_ > 0; }

  /// The place after the mark of a tick; 0: the mark was on the disk when a later tick began.
  std::uint64_t end_of_mark(Tick tick) const {
    const auto mark = std::ranges::find(marks_, tick, &std::pair<Tick, std::uint64_t>::first);
    return mark == marks_.end() ? 0 : mark->second;
  }
  /// The place that the messages and lists of the last finished tick wait for. It stands after the
  /// tick's mark, after all changes of streams, and after the ends of all failed ticks: a failed
  /// tick would succeed after a restart if the log lost its end.
  std::uint64_t end_of_messages(Tick tick) const {
    return std::max(end_of_mark(tick), messages_.end_of_changes());
  }
  /// The place that a snapshot of a stream waits for. The snapshot already lacks the queries that
  /// were removed, or have ended, since its tick. If the log lost these changes, the queries would
  /// come back, and a subscriber would miss them.
  std::uint64_t end_of_snapshot(Tick tick) const {
    const std::uint64_t end_of_marks = marks_.empty() ? 0 : marks_.back().second;
    return std::max({end_of_messages(tick), end_of_queries_, end_of_marks});
  }
  /// The place that the messages of the last finished tick carry. It follows from the records
  /// alone, so a log that runs again gives the same place.
  std::uint64_t of_messages() const { return messages_.of_messages(); }

 private:
  /// Each tick with the place after its mark, sorted by tick.
  std::deque<std::pair<Tick, std::uint64_t>> marks_;
  MessagePlaces messages_;
  std::uint64_t end_of_queries_ = 0;  ///< the place after the last change of queries
  std::uint64_t under_way_ = 0;       ///< number of ticks that have begun and not finished
};

}  // namespace starling::stream
