// SPDX-License-Identifier: Apache-2.0
// Runs the ticks of a log again, one after the other, and waits for each. In a server, Ticker owns
// it and gives it the results that come during recovery.
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

/// Where the engine's results wait. Shared with the engine, which may outlive the server.
class RecoveredResults {
 public:
  /// Engine: keeps the result, and returns true, while results are to be kept.
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

  /// The handler of the engine's results gives them to it.
  const std::shared_ptr<RecoveredResults>& results() const { return results_; }

  /// Begins the tick, after waiting until the engine has room.
  void begin(std::int64_t tau_us);
  /// Waits for the result of the oldest tick that was begun, and finishes the tick. If `error` is
  /// not empty, the tick failed when it was logged, and the tables learn no result now either.
  /// Throws std::runtime_error if the tick fails now and did not fail then.
  TickReport finish(const std::string& error);
  /// The same for a tick that was under way when the log ended. If it fails now, the report says
  /// so.
  TickReport finish_open();
  /// From now on, results are not kept.
  void end() { results_->set_keeping(false); }

 private:
  std::unique_ptr<TickResult> take_oldest();

  Processor& processor_;
  std::shared_ptr<RecoveredResults> results_;
  std::deque<std::uint64_t> objects_;  ///< alive, in each tick under way
};

}  // namespace starling::stream
