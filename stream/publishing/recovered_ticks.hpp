// SPDX-License-Identifier: Apache-2.0
// Runs the ticks of a log again, one after the other, and waits for each. In a server, Ticker owns
// RecoveredTicks and passes it the results that come during recovery.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "starling/knn/tables/processor.hpp"

namespace starling::stream {

/// The results of the engine that were not taken yet. The engine's result handler shares them,
/// because the engine may outlive the server.
class RecoveredResults {
 public:
  /// A thread of the engine calls keep(). Takes the result and returns true, or returns false if
  /// results are not kept now.
  bool keep(std::unique_ptr<TickResult>& result);
  void set_keeping(bool is_keeping);
  /// Returns when the engine has room.
  void wait_for_room(const Processor& processor);
  /// Waits for the result of this tick. Results may come in another order, because some ticks are
  /// skipped.
  std::unique_ptr<TickResult> take(Tick tick);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_keeping_ = false;
  std::map<Tick, std::unique_ptr<TickResult>> results_;
};

class RecoveredTicks {
 public:
  explicit RecoveredTicks(Processor& processor)
      : processor_(processor), results_(std::make_shared<RecoveredResults>()) {}

  /// The engine's result handler must pass each result to keep().
  const std::shared_ptr<RecoveredResults>& results() const { return results_; }

  /// Begins the tick, after waiting until the engine has room.
  void begin(std::int64_t tau_us);
  /// Waits for the result of the oldest tick that was begun, and finishes the tick. If `error` is
  /// not empty, the tick failed when it was logged, and fails with this error again. Throws
  /// std::runtime_error if the tick fails now and did not fail then.
  TickReport finish(const std::string& error);
  /// Finishes the oldest tick that was under way when the log ended, after waiting for its result.
  /// If the tick fails now, the report has the error.
  TickReport finish_open();
  /// From now on, results are not kept.
  void end() { results_->set_keeping(false); }

 private:
  std::unique_ptr<TickResult> take_oldest();

  Processor& processor_;
  std::shared_ptr<RecoveredResults> results_;
  std::deque<std::uint64_t> objects_;  ///< number of objects alive in each tick under way
};

}  // namespace starling::stream
