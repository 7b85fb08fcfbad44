// SPDX-License-Identifier: Apache-2.0
// The seam between Starling's tables and the hardware that answers: staged rows in, lists out.
// A Processor drives one Engine from one thread. Results arrive on a thread of the engine. This
// header includes all types of the seam.
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
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

struct EngineLimits {
  std::uint64_t objects_max = 0;
  std::uint64_t queries_max = 0;
  std::uint32_t k_max = starling::k_max;
  std::uint64_t neighbors_max = 0;  ///< the most neighbours of all lists together
};

/// The memory that an engine uses for its objects, for capacity planning. Staged rows, lists and
/// the working memory of a tick are not included.
struct EngineBytes {
  std::uint64_t state = 0;        ///< positions, times, tags and ids
  std::uint64_t index = 0;        ///< the index of the last tick
  std::uint64_t spare_index = 0;  ///< the memory in which the next tick builds its index

  std::uint64_t total() const { return state + index + spare_index; }
};

/// Computes ticks and answers one-shot queries, on the CPU or on a GPU. Example:
/// examples/game_loop.cpp
///
///     starling::Processor processor(options, starling::cpu::make_engine({.threads = 1}));
class Engine {
 public:
  using ResultHandler = std::function<void(std::unique_ptr<TickResult>)>;
  using AnswersHandler = std::function<void(Answers)>;

  virtual ~Engine() = default;

  virtual std::string_view name() const = 0;  ///< "cpu", "cuda"
  /// The space that the engine was made for: its kind and, for vectors, the dimension and the
  /// metric. Do not read resolution_m and origin: only the processor, which rounds, has them.
  virtual SpaceOptions space() const = 0;
  virtual const EngineLimits& limits() const = 0;

  /// Any thread may call it, but only while no tick is under way: see TickResult::engine_bytes.
  virtual EngineBytes bytes_used() const = 0;

  /// The handler runs on a thread of the engine, in tick order. Call once, before the first tick.
  virtual void set_result_handler(ResultHandler handler) = 0;

  /// Returns the staging half that the caller writes now. Each begin_tick that returns true
  /// switches to the other half.
  virtual Staging& staging() = 0;

  /// Lets the engine take rows from staging() in parts, before the tick begins: see
  /// Staging::part_ends. Call it now and then while rows are staged. Most engines do nothing.
  virtual void take_ahead() {}

  /// Returns whether begin_tick would take a tick now. Some engines take one tick at a time, and
  /// have room again when that tick is computed. Other engines take the next tick while they
  /// compute. Every engine has room after it has delivered the results of all earlier ticks. Only
  /// begin_tick changes the answer to false.
  virtual bool has_room() const = 0;

  /// Swaps the staging halves and returns at once. Returns false and changes nothing if the engine
  /// has no room for another tick. If a tick fails, the next tick computes from the rows of both
  /// ticks, even if the next tick was begun before.
  virtual bool begin_tick(Tick tick, std::int64_t tau_us) = 0;

  /// Answers from the last finished tick, on a thread of the engine. On a lattice, a query at a
  /// fixed position without a filter on tags or age waits neither for the tick under way nor for
  /// the delivery of the last finished tick. Other queries may wait for the tick under way and are
  /// then answered from that tick.
  ///
  /// Before the first tick all lists are empty. After a failed tick the objects are newer than the
  /// last finished tick, so the answer is an error until a later tick finishes. Throws
  /// std::invalid_argument, and calls no handler, if a query does not fit the space or the limits.
  virtual void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) = 0;

  /// Returns whether queries of less than long_search_us (engine_answers.hpp) do not wait for
  /// longer ones that were asked before.
  virtual bool answers_short_beside_long() const { return false; }

  /// Answers as search_finished does, but on the caller's thread, if this takes only microseconds
  /// and does not wait. Otherwise returns std::nullopt, and the caller calls search_finished. An
  /// engine may always return std::nullopt.
  virtual std::optional<Answers> answer_at_once(std::span<const OneShotQuery> /*queries*/) {
    return std::nullopt;
  }

  /// Copies the current lists of these queries, on a thread of the engine, after all ticks that
  /// were begun before this call. The result of the tick that the lists belong to is delivered
  /// before the handler is called. After a failed tick, lists that carry states cannot be read, and
  /// the answer is an error.
  virtual void read_lists(std::vector<Slot> queries, AnswersHandler handler) = 0;

  /// Waits for all begun ticks. Staged rows that no tick has taken are not part of the state.
  /// Throws std::bad_alloc if there is no memory for the copy.
  virtual EngineState export_state() = 0;

  /// Call only on an engine that has not ticked. If import_state throws std::bad_alloc, the engine
  /// is unusable.
  virtual void import_state(const EngineState& state) = 0;
};

}  // namespace starling
