// SPDX-License-Identifier: Apache-2.0
// Starling without a network: objects and standing queries in, changed neighbour lists out, tick by
// tick. The server, the replay and embedding programs drive this class, each from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "starling/knn/base/lazy_memory.hpp"
#include "starling/knn/base/return_pool.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/engine/staging.hpp"
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
  /// Number of threads, including the caller's. They round positions, update objects, and sort a
  /// tick's lists into the reports of the streams. The results, the statuses and the exported state
  /// are the same with any number.
  unsigned threads = 1;
};

struct StreamReport {
  StreamId stream{};
  bool is_gone = false;  ///< no stream has this number: there is nothing to report
  bool is_last = false;  ///< the stream was removed, and this is its last report
  StagedVector<QueryReport> queries{lazy_memory()};
};

/// The report of a finished tick. The destructor returns the memory of the report, and later ticks
/// use this memory again. Any thread may destroy a report, even after the processor is gone.
struct TickReport {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::optional<std::int64_t> newest_time_us;  ///< newest event time accepted before the tick
  std::uint64_t objects = 0;                   ///< alive in the snapshot; 0 if the tick failed
  StageTimes times;
  std::string error;    ///< empty, or why the tick failed; the old lists then stay valid
  std::string warning;  ///< empty, or why queries were removed because of a limit
  std::span<const StreamReport> streams;  ///< [StreamId]

  // These two members own the memory of the spans.
  ReturnPool<std::vector<StreamReport>>::Owned stream_reports;
  std::unique_ptr<TickResult> result;
};

struct ProcessorState;

/// Owns the tables and an engine, and runs ticks. One thread at a time may call it. A call that
/// breaks a rule of these comments, such as one with an unknown StreamId, throws
/// std::invalid_argument with a sentence and changes nothing. Examples:
/// examples/game_loop.cpp in real time, examples/own_clock.cpp with the program's own clock,
/// examples/vector_ticks.cpp in a vector space
///
///     processor.update(rows, now_us, statuses);
///     processor.begin_tick(now_us);
class Processor {
 public:
  /// Throws std::invalid_argument if the engine was made for another space, if Lattice refuses the
  /// space, if the dimension of a vector space is out of range, if there are no threads, or if a
  /// limit exceeds the engine's limit. Throws std::runtime_error if the system cannot start all
  /// threads.
  Processor(const ProcessorOptions& options, std::unique_ptr<Engine> engine);
  ~Processor();

  const ProcessorOptions& options() const { return options_; }
  const SpaceOptions& space() const { return options_.space; }
  /// Throws std::invalid_argument in a vector space, which has no lattice.
  const Lattice& lattice() const;
  /// Converts positions as Lattice::to_lattice does, on all threads, and writes them to the rows.
  /// `errors` has one entry for each row. The position of a row with an error is unspecified.
  void to_lattice(std::span<const double> coordinates, std::size_t components,
                  std::span<ObjectUpdate> rows, std::span<PositionError> errors);
  const ObjectTable& objects() const { return objects_; }
  const QueryTable& queries() const { return queries_; }
  Engine& engine() { return *engine_; }

  /// Updates objects; see ObjectTable. `statuses` has one entry for each row.
  UpdateCounts update(std::span<const ObjectUpdate> rows, std::int64_t time_us_max,
                      std::span<UpdateStatus> statuses);
  /// The same as update, in a vector space. `components` has one row for each of `rows`, in the
  /// same order, prepared for the metric of the space (prepare_each, knn/words/metric.hpp).
  UpdateCounts update_vectors(std::span<const VectorUpdate> rows, VectorsView components,
                              std::int64_t time_us_max, std::span<UpdateStatus> statuses);
  /// Updates objects by several batches, in order. Large updates take less time in this way, if
  /// ProcessorOptions::threads is more than one.
  void update(std::span<const ObjectBatch> batches);
  void update_vectors(std::span<const VectorBatch> batches);
  /// Changes ProcessorOptions::threads. Do not call it between begin_finish_tick and
  /// end_finish_tick. Throws std::runtime_error, and changes nothing, if the system cannot start
  /// the threads.
  void set_threads(unsigned threads);
  UpdateCounts update_tags(std::span<const TagUpdate> rows, std::int64_t time_us_max,
                           std::span<UpdateStatus> statuses, const TagOwner& owner = {});
  UpdateCounts remove_objects(std::span<const ObjectRemoval> rows, std::int64_t time_us_max,
                              std::span<UpdateStatus> statuses);

  /// Adds a stream, or changes what an existing stream reports; see QueryTable.
  StreamStatus put_stream(const StreamDefinition& definition);
  /// Removes a live stream and all its queries; see QueryTable. The stream's last report has the
  /// removals.
  void remove_stream(StreamId stream);
  /// Removes a stream in slices. Call begin_remove_stream once, then remove_some until it returns
  /// true, before the next tick begins and before anything else changes.
  void begin_remove_stream(StreamId stream) { queries_.begin_remove_stream(stream); }
  bool remove_some(StreamId stream, std::size_t queries_max) {
    return queries_.remove_some(stream, queries_max, objects_, engine_->staging());
  }
  /// Adds queries to a stream, or replaces the queries that have the same ids. After a replacement,
  /// the next tick still compares the query's new list with its last list. `statuses` has one entry
  /// for each query.
  void put_queries(StreamId stream, std::span<const QueryDefinition> queries,
                   std::span<QueryStatus> statuses);
  /// Does the same for an owner. The queries then belong to `owner`, whatever their member `owner`
  /// is.
  void put_queries(StreamId stream, std::span<const QueryDefinition> queries,
                   std::span<QueryStatus> statuses, const QueryOwner& owner);
  void remove_queries(StreamId stream, std::span<const QueryId> ids,
                      std::span<QueryStatus> statuses, const QueryOwner& owner = {});
  /// With set_may_grow(false), the tables refuse further objects and queries, as if they were full.
  /// They keep the objects and queries that they have.
  void set_may_grow(bool may_grow) {
    objects_.set_may_grow(may_grow);
    queries_.set_may_grow(may_grow);
  }

  /// Moves the end of every lease by `duration_us`, for a caller whose tau jumps.
  void move_leases(std::int64_t duration_us) { queries_.move_leases(duration_us); }

  /// Returns whether begin_tick would begin a tick now. Some engines take a tick before the results
  /// of the last one have arrived; see Engine::has_room.
  bool has_room() const { return engine_->has_room(); }
  /// Does a slice of begin_tick's work for the tables: expiry, leases and changed streams. Returns
  /// whether the tables are ready. Optional: if begin_tick must not take long, call prepare_tick
  /// with the same tau_us until it returns true, then call begin_tick. Between the first call and
  /// begin_tick, call no function that changes objects, queries or streams.
  bool prepare_tick(std::int64_t tau_us);
  /// Removes every-object queries that have outgrown a limit: see QueryTable::remove_outgrown.
  /// Optional: begin_tick does it, too, without quotas. Call it when prepare_tick has returned
  /// true, until it returns fewer than `queries_max` queries, and then call begin_tick.
  std::vector<OutgrownQuery> remove_outgrown(const NeighborQuotas& quotas,
                                             std::size_t queries_max) {
    return queries_.remove_outgrown(quotas, queries_max, objects_, engine_->staging());
  }
  /// See QueryTable::set_list_bytes_max.
  void set_list_bytes_max(std::uint64_t bytes) { queries_.set_list_bytes_max(bytes); }
  /// Starts the next tick. Returns false and changes nothing if the engine has no room. tau_us must
  /// not be less than tau of the last tick.
  ///
  /// If all lists together exceed QueryTableOptions::neighbors_max, every-object queries are
  /// removed until the lists fit. The streams of these queries report the removals, and
  /// TickReport::warning says how many queries were removed.
  bool begin_tick(std::int64_t tau_us);
  /// A function that begin_tick calls with the rows that the tick takes, before the engine gets
  /// them. The rows are valid during the call.
  using RowsWatcher = std::function<void(const Staging&, Tick, std::int64_t tau_us)>;
  void watch_rows(RowsWatcher watcher) { rows_watcher_ = std::move(watcher); }
  /// Turns the engine's result into the reports of the streams. Call once for each result, in
  /// order, on the thread that drives the processor.
  TickReport finish_tick(std::unique_ptr<TickResult> result);
  /// Does what finish_tick does, in slices. Call begin_finish_tick once, then sort_some until it
  /// returns true, then end_finish_tick. Queries, streams and objects may change between these
  /// calls, and the next tick may begin.
  void begin_finish_tick(std::unique_ptr<TickResult> result);
  bool sort_some();
  TickReport end_finish_tick();

  /// Returns whether a tick has begun that was not finished yet.
  bool tick_under_way() const { return !under_way_.empty(); }
  Tick last_tick() const { return last_finished_; }
  /// Returns tau of the last begun tick, or std::nullopt before the first tick.
  std::optional<std::int64_t> last_tau_us() const { return last_tau_us_; }

  /// Returns the distance for a Neighbor::key: metres, or in a vector space the metric's distance.
  double to_distance(RankKey key) const;
  /// Returns the largest key whose to_distance is at most `distance`, for Filter::key_max. Throws
  /// std::invalid_argument for NaN, and on a lattice for a negative distance.
  RankKey to_key_max(double distance) const;

  /// Returns the slot of an id for OneShotQuery::object. Returns no_slot if the id is unknown. The
  /// answer to a query with no_slot is empty.
  Slot find_object(ObjectId id) const { return objects_.find(id); }

  /// Call only between ticks: finish_tick must have been called for the last tick.
  ProcessorState export_state();
  /// Call only on a processor that has done nothing yet. Throws std::invalid_argument if the state
  /// is of another space.
  void import_state(const ProcessorState& state);

 private:
  /// The data of a begun tick's report that the engine's result does not have.
  struct UnderWay {
    Tick tick{};
    std::optional<std::int64_t> newest_time_us;
    std::string warning;
  };

  /// Sorts the lists of a tick into the reports of the streams. The lists are cut into ranges,
  /// which threads take. First they count the lists of each stream, then they write the reports.
  struct Sorting {
    std::unique_ptr<TickResult> result;
    ReturnPool<std::vector<StreamReport>>::Owned reports;
    std::size_t ranges = 1;
    /// [range][stream]: the number of lists; after the count, the place of the next report.
    std::vector<std::size_t> places;
    std::size_t places_per_range = 0;
    std::size_t visited = 0;  ///< lists of each range that the threads have counted, or written
    bool is_counted = false;
  };

  void check_queries(const char* function, StreamId stream, std::size_t queries,
                     std::size_t statuses) const;
  std::string warning_of(const std::vector<OutgrownQuery>& removed) const;
  template <class Visit>
  bool visit_some(const Visit& visit);
  void make_room_for_reports();
  QueryReport report_of(const TickResult& result, std::size_t index) const;

  ProcessorOptions options_;
  std::optional<Lattice> lattice_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ThreadPool> pool_;
  ObjectTable objects_;
  QueryTable queries_;
  Tick last_begun_{};
  Tick last_finished_{};
  std::optional<std::int64_t> last_tau_us_;
  std::deque<UnderWay> under_way_;  ///< sorted by tick
  RowsWatcher rows_watcher_;        ///< may be empty
  ReturnPool<std::vector<StreamReport>> stream_reports_;
  Sorting sorting_;
};

struct ProcessorState {
  SpaceOptions space;
  Tick last_tick{};  ///< the engine's last finished tick, or a later failed tick
  std::optional<std::int64_t> last_tau_us;
  ObjectTableState objects;
  QueryTableState queries;
  EngineState engine;
};

}  // namespace starling
