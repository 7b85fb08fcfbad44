// SPDX-License-Identifier: Apache-2.0
// Applies updates of objects in groups. A group has the rows of several requests, so that several
// threads have enough to do. With several threads, all but small groups are applied beside the
// loop, which gathers the next group meanwhile. Tables owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/rows/prepared_rows.hpp"
#include "starling/stream/tables/growth.hpp"
#include "starling/stream/tables/tick_time.hpp"
#include "starling/stream/tables/turns.hpp"

namespace starling::stream {

/// How a group was applied. The times are of the steady clock.
struct GroupOutcome {
  std::size_t rows = 0;
  std::int64_t since_us = 0;
  std::int64_t until_us = 0;
  std::int64_t took_us = 0;  ///< time of applying, without other turns between slices
  bool is_out_of_memory =
      false;  ///< rows that were not applied have UpdateStatus::too_many_objects
};

/// An update of objects that waits to be applied with others.
class WaitingUpdate {
 public:
  virtual ~WaitingUpdate() = default;

  /// The rows of moving points or of vectors. They must stay where they are until applied().
  virtual protocol::PreparedRows& rows() = 0;
  /// Called on the loop when the rows are applied. statuses() then has the status of each row.
  virtual void applied(const GroupOutcome& outcome) = 0;

  std::vector<UpdateStatus>& statuses() { return statuses_; }
  std::size_t bytes() const { return bytes_; }

 protected:
  /// `bytes` is the size of the request.
  WaitingUpdate(std::size_t row_count, std::size_t bytes)
      : statuses_(row_count, UpdateStatus::too_many_objects), bytes_(bytes) {}

 private:
  std::vector<UpdateStatus> statuses_;
  std::size_t bytes_;
};

/// Only the loop calls the functions.
class UpdateGroups {
 public:
  struct Options {
    unsigned threads = 1;  ///< number of the processor's threads
    bool has_log = false;  ///< the records of a group must find room in the log
    /// Called once for each group, before its updates.
    std::function<void(const GroupOutcome&)> applied;
  };
  UpdateGroups(Processor& processor, Growth& growth, TickTime& time, Turns& turns, Options options);

  /// Makes place for one more update, so that add() cannot fail.
  void reserve();
  void add(std::unique_ptr<WaitingUpdate> update);
  /// Begins to apply the updates that wait, if it is their turn. Updates that come meanwhile are
  /// applied afterwards without another call.
  void apply();

  /// Returns whether the updates that wait fill a group.
  bool is_full() const;
  bool is_empty() const { return waiting_.empty(); }
  bool has_threads() const { return options_.threads > 1; }

 private:
  struct Group;
  void apply_all(Group& group);
  bool apply_some(Group& group);
  void apply_rows_of(Group& group);
  void slice(const std::shared_ptr<Group>& group);
  void end(Group& group);

  Processor& processor_;
  Growth& growth_;
  TickTime& time_;
  Turns& turns_;
  Options options_;
  std::vector<std::unique_ptr<WaitingUpdate>> waiting_;  ///< sorted by arrival
  std::size_t rows_ = 0;                                 ///< rows of all updates that wait
  std::size_t bytes_ = 0;                                ///< bytes of all updates that wait
};

}  // namespace starling::stream
