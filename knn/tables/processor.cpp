// SPDX-License-Identifier: Apache-2.0
// Passes rows to the tables, begins and finishes ticks, and sorts the engine's results by stream:
// see processor.hpp.
#include "starling/knn/tables/processor.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/base/times.hpp"
#include "starling/knn/base/usage.hpp"

namespace starling {
namespace {

constexpr std::size_t idle_reports_max = 2;  // one report is published while the next is made
// Lists are sorted by stream in ranges of about this many lists.
constexpr std::size_t lists_per_range = 2048;
constexpr std::size_t ranges_max = 64;
constexpr std::size_t prefetch_lists = 16;
// A slice takes this many lists for each thread, which is much less than a millisecond's work.
constexpr std::size_t lists_per_slice = 2048;
// A slice of prepare_tick takes a millisecond or less.
constexpr std::size_t rows_per_slice = 1024;
constexpr std::size_t objects_per_slice = 1024;

// Checks the options, and copies the dimension of the space into the options of the tables.
ProcessorOptions checked(ProcessorOptions options) {
  const SpaceOptions& space = options.space;
  if (space.is_vector() && (space.dimension < 1 || space.dimension > dimension_max))
    throw std::invalid_argument("the dimension of a vector space is 1 to " +
                                std::to_string(dimension_max));
  if (options.threads == 0) throw std::invalid_argument("a processor needs at least one thread");
  options.objects.dimension = options.queries.dimension = space.is_vector() ? space.dimension : 0;
  options.queries.metric = space.metric;
  return options;
}

std::string text_of(const SpaceOptions& space) {
  if (!space.is_vector()) return std::string(to_string(space.space));
  return "vectors of " + std::to_string(space.dimension) + " components by " +
         std::string(name_of(space.metric));
}

/// Returns whether an engine gives the same answers in both spaces. The rounding of positions does
/// not count, because engines do not round.
bool is_same_space(const SpaceOptions& a, const SpaceOptions& b) {
  return a.space == b.space &&
         (!a.is_vector() || (a.dimension == b.dimension && a.metric == b.metric));
}

std::unique_ptr<Engine> checked(std::unique_ptr<Engine> engine, const SpaceOptions& space) {
  check_usage(engine != nullptr, "Processor: the engine is null; cpu::make_engine makes one");
  check_usage(
      is_same_space(engine->space(), space), "Processor: the engine was made for ",
      text_of(engine->space()), ", but ProcessorOptions::space is ", text_of(space),
      "; make the engine for the same space, as cpu::make_engine({.space = options.space})");
  return engine;
}

}  // namespace

Processor::Processor(const ProcessorOptions& options, std::unique_ptr<Engine> engine)
    : options_(checked(options)),
      engine_(checked(std::move(engine), options_.space)),
      pool_(std::make_unique<ThreadPool>(options_.threads)),
      objects_(options_.objects),
      queries_(options_.queries),
      stream_reports_(idle_reports_max) {
  if (!options_.space.is_vector()) lattice_.emplace(options_.space);
  const EngineLimits& limits = engine_->limits();
  if (options_.objects.objects_max > limits.objects_max)
    throw std::invalid_argument("the engine holds at most " + std::to_string(limits.objects_max) +
                                " objects; lower the limit on objects");
  if (options_.queries.queries_max > limits.queries_max)
    throw std::invalid_argument("the engine holds at most " + std::to_string(limits.queries_max) +
                                " queries; lower the limit on queries");
  if (options_.queries.k_max > limits.k_max)
    throw std::invalid_argument("the engine answers k up to " + std::to_string(limits.k_max) +
                                "; lower the limit on k");
  if (options_.queries.neighbors_max > limits.neighbors_max)
    throw std::invalid_argument("the engine's lists hold at most " +
                                std::to_string(limits.neighbors_max) +
                                " neighbours; lower the limit on neighbours");
}

Processor::~Processor() = default;

void Processor::to_lattice(std::span<const double> coordinates, std::size_t components,
                           std::span<ObjectUpdate> rows, std::span<PositionError> errors) {
  check_usage(lattice_.has_value(), "to_lattice: a vector space has no lattice");
  check_usage(components == 2 || components == 3,
              "to_lattice: a position has 2 or 3 components, not ", components);
  check_usage(coordinates.size() == rows.size() * components && errors.size() == rows.size(),
              "to_lattice: ", rows.size(), " rows of ", components, " components need ",
              rows.size() * components, " coordinates and ", rows.size(), " errors; there are ",
              coordinates.size(), " and ", errors.size());
  constexpr std::size_t rows_at_once = 256;  // few enough that their points stay in the L1 cache
  const auto convert = [&](std::size_t first, std::size_t count) {
    std::array<LatticePoint, rows_at_once> points;
    lattice().to_lattice(coordinates.subspan(first * components, count * components), components,
                         std::span(points).first(count), errors.subspan(first, count));
    for (std::size_t i = 0; i < count; ++i) rows[first + i].position = points[i];
  };
  pool_->for_ranges(rows.size(), rows_at_once, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t first = begin; first < end; first += rows_at_once)
      convert(first, std::min(rows_at_once, end - first));
  });
}

UpdateCounts Processor::update(std::span<const ObjectUpdate> rows, std::int64_t time_us_max,
                               std::span<UpdateStatus> statuses) {
  const ObjectBatch batch{rows, time_us_max, statuses};
  update(std::span(&batch, 1));
  return counts_of(statuses);
}

UpdateCounts Processor::update_vectors(std::span<const VectorUpdate> rows, VectorsView components,
                                       std::int64_t time_us_max, std::span<UpdateStatus> statuses) {
  const VectorBatch batch{rows, components, time_us_max, statuses};
  update_vectors(std::span(&batch, 1));
  return counts_of(statuses);
}

void Processor::set_threads(unsigned threads) {
  check_usage(threads > 0, "set_threads: a processor needs at least one thread");
  if (threads != pool_->threads()) pool_ = std::make_unique<ThreadPool>(threads);
  options_.threads = threads;
}

void Processor::update(std::span<const ObjectBatch> batches) {
  objects_.update(batches, engine_->staging(), *pool_);
  engine_->take_ahead();
}

void Processor::update_vectors(std::span<const VectorBatch> batches) {
  objects_.update_vectors(batches, engine_->staging(), *pool_);
  engine_->take_ahead();
}

UpdateCounts Processor::update_tags(std::span<const TagUpdate> rows, std::int64_t time_us_max,
                                    std::span<UpdateStatus> statuses, const TagOwner& owner) {
  return objects_.update_tags(rows, time_us_max, statuses, engine_->staging(), owner);
}

UpdateCounts Processor::remove_objects(std::span<const ObjectRemoval> rows,
                                       std::int64_t time_us_max, std::span<UpdateStatus> statuses) {
  return objects_.remove(rows, time_us_max, statuses, engine_->staging());
}

StreamStatus Processor::put_stream(const StreamDefinition& definition) {
  return queries_.put_stream(definition);
}

void Processor::remove_stream(StreamId stream) {
  queries_.remove_stream(stream, objects_, engine_->staging());
}

void Processor::put_queries(StreamId stream, std::span<const QueryDefinition> queries,
                            std::span<QueryStatus> statuses) {
  check_queries("put_queries", stream, queries.size(), statuses.size());
  for (std::size_t i = 0; i < queries.size(); ++i)
    statuses[i] = queries_.put(stream, queries[i], objects_, engine_->staging());
}

void Processor::put_queries(StreamId stream, std::span<const QueryDefinition> queries,
                            std::span<QueryStatus> statuses, const QueryOwner& owner) {
  check_queries("put_queries", stream, queries.size(), statuses.size());
  for (std::size_t i = 0; i < queries.size(); ++i)
    statuses[i] = queries_.put(stream, queries[i], owner, objects_, engine_->staging());
}

void Processor::remove_queries(StreamId stream, std::span<const QueryId> ids,
                               std::span<QueryStatus> statuses, const QueryOwner& owner) {
  check_queries("remove_queries", stream, ids.size(), statuses.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    statuses[i] = queries_.remove(stream, ids[i], owner, objects_, engine_->staging());
}

/// Throws std::invalid_argument unless the stream is live and there is a status for each query.
void Processor::check_queries(const char* function, StreamId stream, std::size_t queries,
                              std::size_t statuses) const {
  queries_.check_live(function, stream);
  check_usage(statuses == queries, function, ": there are ", queries, " queries and ", statuses,
              " statuses; pass one status for each query");
}

const Lattice& Processor::lattice() const {
  check_usage(lattice_.has_value(), "lattice: a vector space has no lattice");
  return *lattice_;
}

double Processor::to_distance(RankKey key) const {
  if (lattice_) return lattice_->to_metres(key);
  return distance_of(options_.space.metric, score_of(key));
}

RankKey Processor::to_key_max(double distance) const {
  if (lattice_) return RankKey{lattice_->to_distance_sq(distance)};
  return key_within(options_.space.metric, distance);
}

bool Processor::prepare_tick(std::int64_t tau_us) {
  Staging& staging = engine_->staging();
  return queries_.prepare_tick(tau_us, rows_per_slice, objects_, staging) &&
         objects_.prepare_tick(tau_us, objects_per_slice, staging);
}

bool Processor::begin_tick(std::int64_t tau_us) {
  check_usage(is_time(tau_us), "begin_tick: tau_us is ", tau_us, "; it lies within 2^61 of 0");
  check_usage(!last_tau_us_ || tau_us >= *last_tau_us_, "begin_tick: tau_us is ", tau_us,
              ", but that of the last tick is ", last_tau_us_.value_or(0), "; tau never decreases");
  if (!engine_->has_room()) return false;
  while (!prepare_tick(tau_us)) continue;
  std::string warning = warning_of(remove_outgrown({}, std::numeric_limits<std::size_t>::max()));
  last_begun_ = Tick{to_number(last_begun_) + 1};
  last_tau_us_ = tau_us;
  under_way_.push_back({last_begun_, objects_.newest_time_us(), std::move(warning)});
  if (rows_watcher_) rows_watcher_(engine_->staging(), last_begun_, tau_us);
  check_invariant(engine_->begin_tick(last_begun_, tau_us),
                  "an engine that has room takes the next tick");
  queries_.tick_begun();
  return true;
}

// Returns a warning; empty if all queries stay.
std::string Processor::warning_of(const std::vector<OutgrownQuery>& removed) const {
  if (removed.empty()) return {};
  return std::to_string(removed.size()) + " every-object queries were removed: with " +
         std::to_string(objects_.alive_count()) +
         " objects, all lists together would hold more than neighbors_max (" +
         std::to_string(options_.queries.neighbors_max) +
         ") neighbours; put them again with a smaller k, or raise the limit";
}

TickReport Processor::finish_tick(std::unique_ptr<TickResult> result) {
  begin_finish_tick(std::move(result));
  while (!sort_some()) continue;
  return end_finish_tick();
}

void Processor::begin_finish_tick(std::unique_ptr<TickResult> result) {
  check_usage(result != nullptr, "finish_tick: the result is null");
  check_usage(
      tick_under_way() && result->tick == under_way_.front().tick,
      "finish_tick: the result is of tick ", to_number(result->tick),
      tick_under_way() ? ", but the next one to finish is another" : ", but no tick is under way",
      "; pass each result once, in the order in which they arrive");
  check_usage(!sorting_.result,
              "begin_finish_tick: another tick is being finished; call "
              "end_finish_tick for it first");
  const std::size_t lists = result->lists.size();
  const std::size_t streams = queries_.stream_id_end();
  // The places of two ranges are never in one cache line, because threads that write to one cache
  // line wait for each other.
  constexpr std::size_t places_per_line = 8;
  sorting_.result = std::move(result);
  sorting_.reports = stream_reports_.take_owned();
  sorting_.reports->resize(streams);
  sorting_.ranges =
      pool_->threads() == 1 ? 1 : std::clamp<std::size_t>(lists / lists_per_range, 1, ranges_max);
  sorting_.places_per_range = (streams / places_per_line + 2) * places_per_line;
  sorting_.places.assign(sorting_.ranges * sorting_.places_per_range, 0);
  sorting_.visited = 0;
  sorting_.is_counted = false;
}

/// Sorts the next lists of each range. Returns whether all lists are in their streams' reports.
bool Processor::sort_some() {
  check_usage(sorting_.result != nullptr, "sort_some: call begin_finish_tick first");
  if (!sorting_.is_counted) {
    if (visit_some([](std::size_t, std::size_t, std::size_t& count) { ++count; }))
      make_room_for_reports();
    return false;
  }
  return visit_some([this](std::size_t list, std::size_t stream, std::size_t& place) {
    (*sorting_.reports)[stream].queries[place++] = report_of(*sorting_.result, list);
  });
}

/// Calls visit(list, its stream, the place of the stream in the range) for the next lists of each
/// range. Returns whether these were the last lists.
template <class Visit>
bool Processor::visit_some(const Visit& visit) {
  const std::span<const ReportedList> all = sorting_.result->lists;
  const std::size_t lists = all.size();
  const std::size_t ranges = sorting_.ranges;
  const std::size_t longest = (lists + ranges - 1) / ranges;
  const std::size_t from = sorting_.visited;
  const std::size_t at_once = std::max<std::size_t>(lists_per_slice * pool_->threads() / ranges, 1);
  const std::size_t to = std::min(longest, from + at_once);
  pool_->run(ranges, [&](std::size_t range, unsigned) {
    std::size_t* const places = sorting_.places.data() + range * sorting_.places_per_range;
    const std::size_t begin = lists * range / ranges;
    const std::size_t end = lists * (range + 1) / ranges;
    for (std::size_t i = begin + from; i < std::min(end, begin + to); ++i) {
      if (i + prefetch_lists < end) queries_.prefetch(all[i + prefetch_lists].query);
      const auto stream = static_cast<std::size_t>(queries_.stream_of(all[i].query));
      visit(i, stream, places[stream]);
    }
  });
  sorting_.visited = to < longest ? to : 0;
  return to == longest;
}

/// Resizes each stream's reports to the number of its lists. Turns the counts of lists into places.
void Processor::make_room_for_reports() {
  std::vector<StreamReport>& streams = *sorting_.reports;
  for (std::size_t stream = 0; stream < streams.size(); ++stream) {
    std::size_t count = 0;
    for (std::size_t range = 0; range < sorting_.ranges; ++range)
      count += std::exchange(sorting_.places[range * sorting_.places_per_range + stream], count);
    auto& queries = streams[stream].queries;
    queries.clear();
    reserve_room<1>(queries, count, 4 * count);
    queries.resize(count);
  }
  sorting_.is_counted = true;
}

TickReport Processor::end_finish_tick() {
  check_usage(sorting_.result != nullptr, "end_finish_tick: call begin_finish_tick first");
  std::unique_ptr<TickResult> result = std::move(sorting_.result);
  UnderWay begun = std::move(under_way_.front());
  under_way_.pop_front();
  last_finished_ = result->tick;

  TickReport report;
  report.tick = result->tick;
  report.tau_us = result->tau_us;
  report.newest_time_us = begun.newest_time_us;
  report.objects = result->error.empty() ? result->objects : 0;
  report.times = result->times;
  report.error = result->error;
  report.warning = std::move(begun.warning);
  report.stream_reports = std::move(sorting_.reports);
  std::vector<StreamReport>& streams = *report.stream_reports;
  streams.resize(queries_.stream_id_end());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i].stream = static_cast<StreamId>(i);
    streams[i].is_gone = !queries_.is_reported(streams[i].stream);
    streams[i].is_last = false;
  }
  if (report.error.empty())
    for (const StreamId id : queries_.leaving_streams())
      streams[static_cast<std::size_t>(id)].is_last = true;
  report.streams = streams;
  // After a failed tick, the engine takes its rows into the next tick, which reports the removals.
  if (report.error.empty())
    queries_.tick_finished();
  else
    queries_.tick_failed();
  report.result = std::move(result);
  return report;
}

QueryReport Processor::report_of(const TickResult& result, std::size_t index) const {
  const ReportedList& list = result.lists[index];
  QueryReport report{.query = queries_.id_of(list.query),
                     .has_subject = list.has_subject,
                     .subject = list.subject,
                     .event = list.event,
                     .neighbors = result.neighbors.subspan(list.first, list.count),
                     .states = {}};
  if (list.first_state != ReportedList::no_state)
    report.states = result.states.subspan(list.first_state, list.count);
  if (!result.predictions.empty()) {
    report.vote = result.predictions[index].vote;
    report.mean = result.predictions[index].mean;
  }
  return report;
}

ProcessorState Processor::export_state() {
  check_usage(!tick_under_way(),
              "export_state: a tick is under way; call finish_tick with its result first");
  return {options_.space,          last_finished_,          last_tau_us_,
          objects_.export_state(), queries_.export_state(), engine_->export_state()};
}

void Processor::import_state(const ProcessorState& state) {
  if (!(state.space == options_.space))
    throw std::invalid_argument("the state was exported from another space");
  check_usage(last_begun_ == Tick{} && objects_.slot_end() == 0 && queries_.stream_id_end() == 0,
              "import_state: the processor has objects, streams or ticks; import into a new one");
  engine_->import_state(state.engine);
  objects_.import_state(state.objects, engine_->staging());
  objects_.stage_forgotten(state.engine.objects, engine_->staging());
  queries_.import_state(state.queries, engine_->staging());
  last_begun_ = last_finished_ = state.last_tick;
  last_tau_us_ = state.last_tau_us;
}

}  // namespace starling
