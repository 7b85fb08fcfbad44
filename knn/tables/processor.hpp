// Starling without a network: objects and standing queries in, changed neighbour lists out, tick by
// tick. The server, the replay and embedding programs all drive this one class, from one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/base/return_pool.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/tables/query_table.hpp"
#include "starling/knn/words/lattice.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

struct ProcessorOptions {
  SpaceOptions space;
  ObjectTableOptions objects;
  QueryTableOptions queries;
};

struct StreamReport {
  StreamId stream{};
  std::vector<QueryReport> queries;
};

/// A finished tick. Destroying it returns its memory, which later ticks use again; any thread may
/// do so, even after the processor is gone.
struct TickReport {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::optional<std::int64_t> newest_time_us;  ///< newest event time in the snapshot's input
  std::uint64_t objects = 0;
  StageTimes times;
  std::string error;                      ///< not empty: the tick failed and the old lists stand
  std::string warning;                    ///< not empty: queries were removed because of a limit
  std::span<const StreamReport> streams;  ///< every stream, by StreamId, silent ones too

  // What the spans show:
  ReturnPool<std::vector<StreamReport>>::Owned stream_reports;
  std::unique_ptr<TickResult> result;
};

struct ProcessorState;

class Processor {
 public:
  /// Throws std::invalid_argument as Lattice does, if a vector space has no dimension that it may
  /// have, or if a limit exceeds the engine's. The engine is one for the space.
  Processor(const ProcessorOptions& options, std::unique_ptr<Engine> engine);

  const ProcessorOptions& options() const { return options_; }
  const SpaceOptions& space() const { return options_.space; }
  /// Not of a vector space, which has none: that ends the process.
  const Lattice& lattice() const;
  const ObjectTable& objects() const { return objects_; }
  const QueryTable& queries() const { return queries_; }
  Engine& engine() { return *engine_; }

  /// Objects; see ObjectTable. `statuses` has one entry a row.
  UpdateCounts update(std::span<const ObjectUpdate> rows, std::int64_t time_us_max,
                      std::span<UpdateStatus> statuses);
  /// The same in a vector space. `components` are of the rows, in their order, prepared for the
  /// space's metric (prepare_each, knn/words/metric.hpp).
  UpdateCounts update_vectors(std::span<const VectorUpdate> rows, VectorsView components,
                              std::int64_t time_us_max, std::span<UpdateStatus> statuses);
  UpdateCounts update_tags(std::span<const TagUpdate> rows, std::int64_t time_us_max,
                           std::span<UpdateStatus> statuses);
  UpdateCounts remove_objects(std::span<const ObjectRemoval> rows, std::int64_t time_us_max,
                              std::span<UpdateStatus> statuses);

  /// Adds a stream or changes what an existing one reports; see QueryTable.
  StreamStatus put_stream(const StreamDefinition& definition);
  /// The stream's definition replaces each query's; its last list stays what changes are told from.
  void put_queries(StreamId stream, std::span<const QueryDefinition> queries,
                   std::span<QueryStatus> statuses);
  void remove_queries(StreamId stream, std::span<const QueryId> ids,
                      std::span<QueryStatus> statuses);

  /// Starts the next tick. False, with nothing changed, while one is under way. tau_us must not be
  /// less than the last tick's.
  /// Every-object queries whose lists have outgrown QueryTableOptions::neighbors_max are removed,
  /// which their streams hear and the report's warning says.
  bool begin_tick(std::int64_t tau_us);
  /// Turns the engine's result into each stream's report. Call once per result, in order, on the
  /// owner's thread.
  TickReport finish_tick(std::unique_ptr<TickResult> result);

  bool tick_under_way() const { return under_way_; }
  Tick last_tick() const { return last_finished_; }
  /// tau of the last tick begun, if any.
  std::optional<std::int64_t> last_tau_us() const { return last_tau_us_; }

  /// What users are told of Neighbor::distance_sq: metres, or in a vector space the metric's
  /// distance.
  double to_distance(RankKey key) const;
  /// The way back, for Filter::key_max. Throws std::invalid_argument for NaN, and on a
  /// lattice for negative ones.
  RankKey to_key_max(double distance) const;

  /// An id's slot for OneShotQuery::object; no_slot if unknown (the answer is then empty).
  Slot find_object(ObjectId id) const { return objects_.find(id); }

  /// Waits for a tick under way; its result must have been finished.
  ProcessorState export_state();
  /// Only on a processor with the same space that has done nothing yet.
  void import_state(const ProcessorState& state);

 private:
  void remove_outgrown();

  ProcessorOptions options_;
  std::optional<Lattice> lattice_;
  std::unique_ptr<Engine> engine_;
  ObjectTable objects_;
  QueryTable queries_;
  Tick last_begun_{};
  Tick last_finished_{};
  std::optional<std::int64_t> last_tau_us_;
  std::optional<std::int64_t> newest_time_us_;  ///< as of the last begin_tick
  std::string warning_;                         ///< of the last begin_tick
  ReturnPool<std::vector<StreamReport>> stream_reports_;
  bool under_way_ = false;
};

struct ProcessorState {
  SpaceOptions space;
  Tick last_tick{};  ///< the engine's, or a failed one after it
  std::optional<std::int64_t> last_tau_us;
  ObjectTableState objects;
  QueryTableState queries;
  EngineState engine;
};

}  // namespace starling
