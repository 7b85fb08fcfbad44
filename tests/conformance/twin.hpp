// SPDX-License-Identifier: Apache-2.0
// A Twin owns an oracle and a Processor with the engine under test. The Twin gives every input to
// both. After every tick it compares the engine's reports with the oracle's, byte by byte. A
// mismatch is a test failure that prints both lists.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"
#include "tests/conformance/engines.hpp"
#include "tests/support/oracle.hpp"

namespace starling::test {

struct TwinOptions {
  Space space = Space::planar2;
  int threads = 2;
  OracleOptions oracle;  ///< also has the dimension and the metric of a vector space
  /// If true, a tick begins before the reports of the previous tick are compared. If the engine has
  /// room, it even begins before the previous result has arrived.
  bool ahead = false;
};

/// All reports of the engine, as numbers. If two transcripts are equal, the engines reported the
/// same bytes.
using Transcript = std::vector<std::uint64_t>;

/// Holds the lists that a subscriber has after it has applied all reports.
class Subscriber {
 public:
  void apply(std::uint32_t stream, const QueryReport& report);
  const Lists& lists() const { return lists_; }

 private:
  Lists lists_;
};

/// Runs an engine beside the oracle: see the top of this file.
class Twin {
 public:
  Twin(const EngineChoice& engine, const TwinOptions& options);

  UpdateStatus update(const ObjectUpdate& row);
  /// `components` must be prepared (prepare_vectors).
  UpdateStatus update_vector(const VectorUpdate& row, const std::vector<float>& components);
  UpdateStatus update_tags(const TagUpdate& row);
  UpdateStatus remove(ObjectId id, std::int64_t time_us);
  /// From now on, rows whose event time is after `time_us_max` are refused.
  void set_time_limit(std::int64_t time_us_max) { time_us_max_ = time_us_max; }

  std::uint32_t put_stream(const StreamDefinition& definition);
  QueryStatus put_query(std::uint32_t stream, const QueryDefinition& definition);
  QueryStatus remove_query(std::uint32_t stream, QueryId id);

  /// Runs the tick on the engine and on the oracle, and compares their reports. Returns the
  /// oracle's reports. If ticks begin ahead, the reports are compared later.
  OracleTick tick(std::int64_t tau_us);
  /// Waits for all ticks under way, and compares their reports.
  void finish_ticks();

  /// Runs a tick on the engine alone. The engine must fail and report nothing. The next tick also
  /// takes the rows of the failed tick.
  void fail_tick(std::int64_t tau_us);
  /// The same as fail_tick, but if ticks begin ahead, the next tick may begin before this one
  /// fails.
  void begin_failing_tick(std::int64_t tau_us);

  /// Reads the current lists of every query from the engine and compares them with the oracle's
  /// lists. Call this function right after a tick.
  void compare_current_lists();
  /// Asks the engine and the oracle a one-shot query about the last finished tick, and compares the
  /// answers.
  void compare_answer(std::uint32_t k, const Anchor& anchor, const Filter& filter,
                      const std::vector<float>& components = {});

  /// Exports the state and continues with a new engine and Processor that import the state.
  void move_to_new_engine(int threads);

  const Oracle& oracle() const { return oracle_; }
  Processor& processor() { return *processor_; }
  /// Returns the list that a subscriber to the engine's reports holds. The test fails if the
  /// subscriber holds no such list.
  List list(std::uint32_t stream, std::uint64_t query,
            std::optional<ObjectId> subject = std::nullopt) const;
  bool has_list(std::uint32_t stream, std::uint64_t query,
                std::optional<ObjectId> subject = std::nullopt) const;
  /// Returns the reports of all ticks so far.
  const Transcript& transcript() const { return transcript_; }

 private:
  /// A tick that the engine has begun, and the results that the oracle expects.
  struct BegunTick {
    std::int64_t tau_us = 0;
    std::optional<OracleTick> expected;  ///< std::nullopt: the tick fails
    Lists lists{};                       ///< lists of all queries after the tick
  };

  void start_processor(int threads);
  void begin_tick(BegunTick tick);
  void finish_tick();
  void compare_reports(const TickReport& report, const OracleTick& expected);
  void compare_subscriber(const TickReport& report, const Lists& expected);
  void record(const TickResult& result);

  EngineChoice engine_;
  ProcessorOptions options_;
  bool is_ahead_;
  Oracle oracle_;
  std::unique_ptr<Processor> processor_;
  std::unique_ptr<LockStep> clock_;
  std::deque<BegunTick> begun_;  ///< ticks under way
  std::int64_t time_us_max_ = Oracle::no_time_limit;
  std::vector<ReportOn> weakest_on_;  ///< [stream]: the least ReportOn that the stream ever had
  Subscriber subscriber_;
  Transcript transcript_;
};

/// Asks the engine and waits for its answers.
Answers ask(Engine& engine, std::vector<OneShotQuery> questions);
Answers read_lists(Engine& engine, std::vector<Slot> queries);

}  // namespace starling::test
