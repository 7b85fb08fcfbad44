// The seam between Starling's tables and the hardware that answers: staged rows in, lists out.
// A Processor drives one Engine from one thread; results arrive on a thread of the engine's. This
// header brings all the types of the seam with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "starling/knn/engine/answers.hpp"
#include "starling/knn/engine/engine_state.hpp"
#include "starling/knn/engine/staging.hpp"
#include "starling/knn/engine/tick_result.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

struct EngineLimits {
  std::uint64_t objects_max = 0;
  std::uint64_t queries_max = 0;
  std::uint32_t k_max = starling::k_max;
  std::uint64_t neighbors_max = 0;  ///< of all lists together
};

/// What an engine holds for its objects, for capacity planning. Staged rows, lists and the working
/// memory of a tick come on top.
struct EngineBytes {
  std::uint64_t state = 0;        ///< positions, times, tags and ids
  std::uint64_t index = 0;        ///< of the last tick
  std::uint64_t spare_index = 0;  ///< into which the next tick builds

  std::uint64_t total() const { return state + index + spare_index; }
};

class Engine {
 public:
  using ResultHandler = std::function<void(std::unique_ptr<TickResult>)>;
  using AnswersHandler = std::function<void(Answers)>;

  virtual ~Engine() = default;

  virtual std::string_view name() const = 0;
  virtual const EngineLimits& limits() const = 0;

  /// Between ticks, from any thread.
  virtual EngineBytes bytes_used() const = 0;

  /// The handler runs on a thread of the engine's, in tick order. Set once, before the first tick.
  virtual void set_result_handler(ResultHandler handler) = 0;

  /// The half to write now; another one after each begin_tick that returned true.
  virtual Staging& staging() = 0;

  /// Swaps the halves and returns at once. False, with nothing changed, while the engine has no
  /// room for another tick: some take one at a time, others take the next in while they compute and
  /// before earlier results have come. All accept once their last result has been delivered. Ticks
  /// behind one that fails are computed from the rows of both.
  virtual bool begin_tick(Tick tick, std::int64_t tau_us) = 0;

  /// Answers from the last finished tick, on a thread of the engine's. Questions at fixed positions
  /// on a lattice without a filter on tags or age do not wait for a tick under way, nor for the
  /// result of the one that they are answered from; others may, and are then answered from it.
  /// Before the first tick: empty lists. After a failed tick, until the next that finishes, the
  /// objects are ahead of the last finished one, and the answer is an error.
  virtual void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) = 0;

  /// What search_finished would answer, on the caller's own thread, if that takes microseconds and
  /// waits for nobody; else nothing, and search_finished is to be asked. An engine may always say
  /// nothing.
  virtual std::optional<Answers> answer_at_once(std::span<const OneShotQuery> /*queries*/) {
    return std::nullopt;
  }

  /// Copies the current lists of these queries, behind the ticks begun before, on a thread of the
  /// engine's; the result of the tick that they are from comes first. After a failed tick lists
  /// that carry states cannot be read: the answer is an error.
  virtual void read_lists(std::vector<Slot> queries, AnswersHandler handler) = 0;

  /// Waits for all ticks begun. Staged rows that no tick has taken are not part of the state.
  /// Throws std::bad_alloc if there is no room for the copy.
  virtual EngineState export_state() = 0;

  /// Only on an engine that has not ticked. Throws std::bad_alloc; the engine is then of no use.
  virtual void import_state(const EngineState& state) = 0;
};

}  // namespace starling
