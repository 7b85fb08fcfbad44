// A Processor over the engine under test and the oracle beside it: every input goes into both, and
// every tick's reports are compared to the byte. A mismatch is a test failure with both lists.
#pragma once

#include <cstdint>
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
  OracleOptions oracle;  ///< and the dimension and metric of a vector space
};

/// Everything a tick reported, flattened: equal transcripts are equal bytes.
using Transcript = std::vector<std::uint64_t>;

/// What a subscriber holds who applies each report as it comes.
class Subscriber {
 public:
  void apply(std::uint32_t stream, const QueryReport& report);
  const Lists& lists() const { return lists_; }

 private:
  Lists lists_;
};

class Twin {
 public:
  Twin(const EngineChoice& engine, const TwinOptions& options);

  UpdateStatus update(const ObjectUpdate& row);
  /// Components are prepared.
  UpdateStatus update_vector(const VectorUpdate& row, const std::vector<float>& components);
  UpdateStatus update_tags(const TagUpdate& row);
  UpdateStatus remove(ObjectId id, std::int64_t time_us);
  /// Rows beyond this event time are refused from now on.
  void set_time_limit(std::int64_t time_us_max) { time_us_max_ = time_us_max; }

  std::uint32_t put_stream(const StreamDefinition& definition);
  QueryStatus put_query(std::uint32_t stream, const QueryDefinition& definition);
  QueryStatus remove_query(std::uint32_t stream, QueryId id);

  /// Runs the tick through both, compares, and says what the oracle expects to be reported.
  OracleTick tick(std::int64_t tau_us);

  /// A tick that the engine is to fail; nothing is reported. The next one takes over its rows.
  void fail_tick(std::int64_t tau_us);

  /// Asks the engine for the current lists of every query and compares them. Right after a tick.
  void compare_current_lists();
  /// Asks a one-shot question of the last finished tick and compares the answer.
  void compare_answer(std::uint32_t k, const Anchor& anchor, const Filter& filter,
                      const std::vector<float>& components = {});

  /// Exports the state and goes on in a new engine and Processor that imported it.
  void move_to_new_engine(int threads);

  const Oracle& oracle() const { return oracle_; }
  Processor& processor() { return *processor_; }
  /// What a subscriber to the engine's reports holds; fails the test if it holds no such list.
  List list(std::uint32_t stream, std::uint64_t query,
            std::optional<ObjectId> subject = std::nullopt) const;
  bool has_list(std::uint32_t stream, std::uint64_t query,
                std::optional<ObjectId> subject = std::nullopt) const;
  /// Of all ticks so far.
  const Transcript& transcript() const { return transcript_; }

 private:
  void start_processor(int threads);
  void compare_reports(const TickReport& report, const OracleTick& expected);
  void compare_subscriber(const TickReport& report);
  void record(const TickResult& result);

  EngineChoice engine_;
  ProcessorOptions options_;
  Oracle oracle_;
  std::unique_ptr<Processor> processor_;
  std::unique_ptr<LockStep> clock_;
  std::int64_t time_us_max_ = Oracle::no_time_limit;
  std::vector<ReportOn> weakest_on_;  ///< by stream: the least it ever promised
  Subscriber subscriber_;
  Transcript transcript_;
};

/// The engine's answers, waited for.
Answers ask(Engine& engine, std::vector<OneShotQuery> questions);
Answers read_lists(Engine& engine, std::vector<Slot> queries);

}  // namespace starling::test
