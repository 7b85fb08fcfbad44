// SPDX-License-Identifier: Apache-2.0
// The engine in the caller's process: a Processor in lock step, behind the checks of the interface.
#include <algorithm>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "starling/clients/c/backends.hpp"
#include "starling/clients/c/inputs.hpp"
#include "starling/clients/c/result.hpp"
#include "starling/clients/c/starling.h"
#include "starling/clients/c/structs.hpp"
#include "starling/knn/base/times.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/rows/conversions.hpp"
#include "starling/protocol/rows/row_outcomes.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/protocol/wire/check.hpp"

namespace starling::c {
namespace {

using protocol::RowReason;

// Rows are converted and staged in parts, so that the memory beside the caller's arrays is bounded.
constexpr std::uint64_t rows_at_once_max = std::uint64_t{1} << 16;
constexpr std::uint64_t part_bytes = std::uint64_t{16} << 20;

std::uint64_t rows_at_once(const SpaceOptions& space) {
  if (!space.is_vector()) return rows_at_once_max;
  return std::min(rows_at_once_max, part_bytes / (space.dimension * sizeof(float)));
}

ProcessorOptions processor_options(const starling_engine_options& given) {
  constexpr std::uint32_t threads_max = 1024;
  ProcessorOptions options;
  options.space = {.space = space_of(given.space),
                   .resolution_m = given.resolution_m,
                   .origin = {given.origin[0], given.origin[1], given.origin[2]},
                   .dimension = given.dimension,
                   .metric = metric_of(given.metric)};
  if (given.update_threads < 1 || given.update_threads > threads_max)
    fail(STARLING_INVALID_ARGUMENT, "options.update_threads is " +
                                        std::to_string(given.update_threads) +
                                        "; it must be 1 to " + std::to_string(threads_max) + ".");
  if (given.object_ttl_us <= 0 || given.tombstone_ttl_us < 0)
    fail(STARLING_INVALID_ARGUMENT,
         "options.object_ttl_us must be positive, and options.tombstone_ttl_us not negative.");
  options.objects.objects_max = given.objects_max;
  options.objects.object_ttl_us = given.object_ttl_us;
  options.objects.tombstone_ttl_us = given.tombstone_ttl_us;
  options.queries.queries_max = given.queries_max;
  options.queries.neighbors_max = given.neighbors_max;
  options.threads = given.update_threads;
  return options;
}

protocol::Limits limits_of(const ProcessorOptions& options) {
  protocol::Limits limits;
  limits.space = options.space.space;
  limits.dimension = options.space.dimension;
  limits.metric = options.space.metric;
  limits.k_max = options.queries.k_max;
  limits.rows_max = std::numeric_limits<std::uint32_t>::max();
  return limits;
}

/// What came of the rows of a call, for the caller's arrays.
class Outcomes {
 public:
  Outcomes(starling_row_status* statuses, starling_counts* counts)
      : statuses_(statuses), given_(counts) {
    check_counts(counts);
  }
  void add(std::span<const RowReason> reasons) {
    for (const RowReason reason : reasons) {
      counts_.add(reason);
      if (statuses_ != nullptr) *statuses_++ = static_cast<starling_row_status>(reason);
    }
  }
  void write() const { write_counts(given_, counts_); }

 private:
  starling_row_status* statuses_;
  starling_counts* given_;
  Counts counts_;
};

class EngineHandle final : public Handle {
 public:
  EngineHandle(const ProcessorOptions& options, const BackendChoice& backend)
      : limits_(limits_of(options)),
        space_(options.space),
        processor_(options, make_engine(backend, options.space)),
        lock_step_(processor_),
        name_(processor_.engine().name()) {}

  const char* name() const { return name_.c_str(); }

  void update(Rows rows, std::int64_t time_us_max, Outcomes& outcomes) {
    const std::uint64_t part_rows = rows_at_once(space());
    for (std::uint64_t first = 0; first < rows.count(); first += part_rows) {
      const std::uint64_t count = std::min(part_rows, rows.count() - first);
      protocol::PreparedRows prepared = space_.place(rows.batch(first, count));
      if (auto* const vectors = std::get_if<protocol::VectorRowSet>(&prepared))
        apply(*vectors, outcomes, [&](auto statuses) {
          processor_.update_vectors(vectors->rows, vectors->vectors(), time_us_max, statuses);
        });
      else
        apply(std::get<protocol::RowSet<ObjectUpdate>>(prepared), outcomes, [&](auto statuses) {
          processor_.update(std::get<protocol::RowSet<ObjectUpdate>>(prepared).rows, time_us_max,
                            statuses);
        });
    }
  }

  void update_tags(const protocol::UpdateTags& batch, Outcomes& outcomes) {
    auto set = protocol::convert(batch);
    apply(set, outcomes,
          [&](auto statuses) { processor_.update_tags(set.rows, any_time_us, statuses); });
  }

  void remove_objects(const protocol::RemoveObjects& batch, Outcomes& outcomes) {
    auto set = protocol::convert(batch);
    apply(set, outcomes,
          [&](auto statuses) { processor_.remove_objects(set.rows, any_time_us, statuses); });
  }

  void put_stream(const protocol::PutStream& stream) {
    const std::string name(stream.name);
    const StreamStatus status =
        processor_.put_stream({.name = name, .on = stream.on, .with = stream.with});
    if (status != StreamStatus::accepted)
      fail({.code = protocol::ErrorCode::too_many_streams,
            .sentence = "The engine has " +
                        std::to_string(processor_.options().queries.streams_max) +
                        " streams, which is its limit; remove one first.",
            .limit = {"streams-max", processor_.options().queries.streams_max}});
    const auto id = static_cast<std::size_t>(*processor_.queries().find_stream(name));
    if (names_.size() <= id) names_.resize(id + 1);
    names_[id] = name;
  }

  void remove_stream(const std::string& name) { processor_.remove_stream(find_stream(name)); }

  void put_queries(const std::string& stream, std::vector<protocol::QuerySpec> specs,
                   Outcomes& outcomes) {
    const StreamId id = find_stream(stream);
    const protocol::PutQueries request{.stream = stream, .queries = std::move(specs)};
    protocol::RowSet<QueryDefinition> set = protocol::convert(request, space_);
    set_leases(request, set);
    std::vector<QueryStatus> statuses(set.rows.size());
    processor_.put_queries(id, set.rows, statuses);
    protocol::merge_statuses<QueryStatus>(statuses, set.reasons);
    outcomes.add(set.reasons);
  }

  void remove_queries(const std::string& stream, std::span<const std::uint64_t> ids,
                      Outcomes& outcomes) {
    const StreamId id = find_stream(stream);
    std::vector<QueryId> numbers;
    numbers.reserve(ids.size());
    for (const std::uint64_t number : ids) numbers.push_back(QueryId{number});
    std::vector<QueryStatus> statuses(ids.size());
    processor_.remove_queries(id, numbers, statuses);
    std::vector<RowReason> reasons(ids.size());
    protocol::merge_statuses<QueryStatus>(statuses, reasons);
    outcomes.add(reasons);
  }

  void begin_tick(std::int64_t tau_us) {
    if (processor_.tick_under_way())
      fail(STARLING_REFUSED, "A tick is under way; finish it first.");
    if (const auto problem = protocol::check_tau(tau_us)) fail(*problem);
    if (processor_.last_tau_us().value_or(tau_us) > tau_us)
      fail({.code = protocol::ErrorCode::tau_too_early,
            .sentence = "tau_us is " + std::to_string(tau_us) + ", but the last tick's was " +
                        std::to_string(*processor_.last_tau_us()) + "; time does not go back.",
            .limit = {}});
    lock_step_.begin(tau_us);
  }

  std::unique_ptr<ResultHandle> finish_tick() {
    if (!processor_.tick_under_way())
      fail(STARLING_REFUSED, "No tick is under way; begin one first.");
    const TickReport report = lock_step_.finish();
    if (!report.error.empty()) fail(STARLING_TICK_FAILED, report.error);
    return result_of(report);
  }

  std::unique_ptr<ResultHandle> answer(std::vector<protocol::QuerySpec> specs) {
    const protocol::GetNeighbors request{.questions = std::move(specs)};
    std::vector<OneShotQuery> questions;
    if (const auto problem = protocol::convert_questions(request, space_, questions))
      fail(*problem);
    for (std::size_t i = 0; i < questions.size(); ++i)
      if (questions[i].anchor == AnchorKind::follow)
        questions[i].object = processor_.find_object(request.questions[i].object);
    std::promise<Answers> promise;
    processor_.engine().search_finished(
        std::move(questions), [&](Answers answers) { promise.set_value(std::move(answers)); });
    const Answers answers = promise.get_future().get();
    if (!answers.error.empty())
      fail({.code = protocol::ErrorCode::answer_failed, .sentence = answers.error, .limit = {}});
    return result_of(answers);
  }

  const protocol::Limits& limits() const { return limits_; }
  const SpaceOptions& space() const { return processor_.space(); }

 private:
  static constexpr std::int64_t any_time_us = std::numeric_limits<std::int64_t>::max();

  /// Passes the rows that are not rejected to `update`, and adds the outcomes of all rows.
  template <class Set, class Update>
  void apply(Set& set, Outcomes& outcomes, Update update) {
    statuses_.resize(set.rows.size());
    update(std::span<UpdateStatus>(statuses_));
    protocol::merge_statuses<UpdateStatus>(statuses_, set.reasons);
    outcomes.add(set.reasons);
  }

  StreamId find_stream(const std::string& name) const {
    const auto id = processor_.queries().find_stream(name);
    if (!id)
      fail({.code = protocol::ErrorCode::unknown_stream,
            .sentence = "There is no stream \"" + name + "\"; put it first.",
            .limit = {}});
    return *id;
  }

  void set_leases(const protocol::PutQueries& request, protocol::RowSet<QueryDefinition>& set) {
    constexpr std::int64_t us_per_ms = 1000;
    auto definition = set.rows.begin();
    for (std::size_t i = 0; i < request.queries.size(); ++i) {
      if (set.reasons[i] != RowReason::none) continue;
      const auto lease_ms = static_cast<std::int64_t>(request.queries[i].lease_ms);
      if (lease_ms > 0) {
        if (!processor_.last_tau_us())
          fail({.code = protocol::ErrorCode::bad_value,
                .sentence = "A lease counts from the time of the last tick, and there was no tick "
                            "yet; run one first, or put the query without a lease.",
                .limit = {}});
        definition->lease_end_us = saturating_add(
            *processor_.last_tau_us(), lease_ms >= QueryDefinition::no_lease / us_per_ms / 2
                                           ? QueryDefinition::no_lease
                                           : lease_ms * us_per_ms);
      }
      ++definition;
    }
  }

  std::unique_ptr<ResultHandle> result_of(const TickReport& report) {
    auto result = std::make_unique<ResultHandle>();
    result->info = {.size = 0,
                    .epoch = 0,
                    .tick = to_number(report.tick),
                    .tau_us = report.tau_us,
                    .object_count = report.objects,
                    .stream_count = 0,
                    .build_ms = report.times.build_ms,
                    .search_ms = report.times.search_ms,
                    .diff_ms = report.times.diff_ms,
                    .warning = nullptr};
    result->warning = report.warning;
    for (const StreamReport& stream : report.streams) {
      if (stream.is_gone) continue;
      const auto id = static_cast<std::size_t>(stream.stream);
      const protocol::ListSource source =
          space_.source_of(stream.queries, processor_.queries().stream(stream.stream).with);
      ListArrays arrays(names_[id], protocol::carried_columns(source));
      if (stream.is_last) arrays.set_last();
      add_reports(stream.queries, arrays);
      result->streams.push_back(std::move(arrays));
    }
    return result;
  }

  void add_reports(std::span<const QueryReport> reports, ListArrays& arrays) const {
    std::size_t entries = 0;
    for (const QueryReport& report : reports) entries += report.neighbors.size();
    arrays.reserve(reports.size(), entries);
    for (const QueryReport& report : reports) {
      arrays.begin_list({.query = report.query,
                         .has_subject = report.has_subject,
                         .subject = report.subject,
                         .event = report.event,
                         .vote = report.vote,
                         .mean = report.mean});
      for (std::size_t i = 0; i < report.neighbors.size(); ++i) {
        add_entry(report.neighbors[i], arrays);
        if (!report.states.empty())
          arrays.add_state(space_.position_of(report.states[i].position).value_or(Position{}),
                           report.states[i].tags);
      }
    }
  }

  void add_entry(const Neighbor& neighbor, ListArrays& arrays) const {
    arrays.add_entry(neighbor.object, processor_.to_distance(neighbor.key));
  }

  std::unique_ptr<ResultHandle> result_of(const Answers& answers) const {
    auto result = std::make_unique<ResultHandle>();
    result->info = {.size = 0,
                    .epoch = 0,
                    .tick = to_number(answers.tick),
                    .tau_us = answers.tau_us,
                    .object_count = processor_.objects().alive_count(),
                    .stream_count = 0,
                    .build_ms = 0,
                    .search_ms = 0,
                    .diff_ms = 0,
                    .warning = nullptr};
    ListArrays arrays("", {.distance = true});
    arrays.reserve(answers.lists.size(), answers.neighbors.size());
    for (const Answers::List& list : answers.lists) {
      arrays.begin_list({.query = QueryId{list.query},
                         .vote = list.prediction.vote,
                         .mean = list.prediction.mean});
      for (std::uint64_t i = list.first; i < list.first + list.count; ++i)
        add_entry(answers.neighbors[i], arrays);
    }
    result->streams.push_back(std::move(arrays));
    return result;
  }

  protocol::Limits limits_;
  protocol::ServedSpace space_;
  Processor processor_;
  LockStep lock_step_;
  std::string name_;
  std::vector<std::string> names_;  ///< of streams, by StreamId
  std::vector<UpdateStatus> statuses_;
};

using Engine = Use<EngineHandle>;

}  // namespace
}  // namespace starling::c

using namespace starling;

starling_code starling_engine_options_init(starling_engine_options* options, size_t size) {
  return c::guard([&] {
    const ProcessorOptions defaults;
    c::init_struct(options, size, "starling_engine_options",
                   starling_engine_options{.size = 0,
                                           .space = STARLING_PLANAR2,
                                           .resolution_m = defaults.space.resolution_m,
                                           .origin = {0, 0, 0},
                                           .dimension = 0,
                                           .metric = STARLING_L2,
                                           .backend = STARLING_BACKEND_AUTO,
                                           .device = 0,
                                           .threads = 0,
                                           .update_threads = 1,
                                           .objects_max = defaults.objects.objects_max,
                                           .queries_max = defaults.queries.queries_max,
                                           .neighbors_max = defaults.queries.neighbors_max,
                                           .object_ttl_us = defaults.objects.object_ttl_us,
                                           .tombstone_ttl_us = defaults.objects.tombstone_ttl_us});
  });
}

starling_code starling_stream_init(starling_stream* stream, size_t size) {
  return c::guard([&] {
    c::init_struct(
        stream, size, "starling_stream",
        starling_stream{
            .size = 0, .name = nullptr, .on = STARLING_ON_ORDER, .with = STARLING_WITH_DISTANCE});
  });
}

starling_code starling_query_init(starling_query* query, size_t size) {
  return c::guard([&] {
    starling_query defaults{};
    defaults.k = 1;
    defaults.distance_max = std::numeric_limits<double>::infinity();
    defaults.age_max_us = std::numeric_limits<std::int64_t>::max();
    c::init_struct(query, size, "starling_query", defaults);
  });
}

starling_code starling_engine_create(const starling_engine_options* options,
                                     starling_engine** engine) {
  return c::guard([&] {
    c::check_place(engine, "engine");
    const auto given = c::read_struct(options, "options");
    c::give(std::make_unique<c::EngineHandle>(
                c::processor_options(given),
                c::BackendChoice{given.backend, given.device, given.threads}),
            engine);
  });
}

starling_code starling_engine_destroy(starling_engine* engine) {
  return c::destroy<c::EngineHandle>(engine);
}

const char* starling_engine_name(const starling_engine* engine) {
  const char* name = "";
  c::guard([&] { name = c::Engine(engine)->name(); });
  return name;
}

starling_code starling_engine_update(starling_engine* engine, const starling_rows* rows,
                                     int64_t time_us_max, starling_row_status* statuses,
                                     starling_counts* counts) {
  return c::guard([&] {
    const c::Engine use(engine);
    c::Outcomes outcomes(statuses, counts);
    use->update(c::Rows(rows, use->space()), time_us_max, outcomes);
    outcomes.write();
  });
}

starling_code starling_engine_update_tags(starling_engine* engine, uint64_t count,
                                          const uint64_t* ids, const int64_t* times_us,
                                          const uint32_t* set, const uint32_t* clear,
                                          starling_row_status* statuses, starling_counts* counts) {
  return c::guard([&] {
    const c::Engine use(engine);
    c::Outcomes outcomes(statuses, counts);
    use->update_tags(c::tags_of(count, ids, times_us, set, clear), outcomes);
    outcomes.write();
  });
}

starling_code starling_engine_remove_objects(starling_engine* engine, uint64_t count,
                                             const uint64_t* ids, const int64_t* times_us,
                                             starling_row_status* statuses,
                                             starling_counts* counts) {
  return c::guard([&] {
    const c::Engine use(engine);
    c::Outcomes outcomes(statuses, counts);
    use->remove_objects(c::removals_of(count, ids, times_us), outcomes);
    outcomes.write();
  });
}

starling_code starling_engine_put_stream(starling_engine* engine, const starling_stream* stream) {
  return c::guard([&] { c::Engine(engine)->put_stream(c::stream_of(stream)); });
}

starling_code starling_engine_remove_stream(starling_engine* engine, const char* stream) {
  return c::guard([&] { c::Engine(engine)->remove_stream(c::stream_name_of(stream)); });
}

starling_code starling_engine_put_queries(starling_engine* engine, const char* stream,
                                          const starling_query* queries, uint64_t count,
                                          starling_row_status* statuses, starling_counts* counts) {
  return c::guard([&] {
    const c::Engine use(engine);
    c::Outcomes outcomes(statuses, counts);
    use->put_queries(c::stream_name_of(stream),
                     c::queries_of(queries, count, c::Asked::standing, use->limits()), outcomes);
    outcomes.write();
  });
}

starling_code starling_engine_remove_queries(starling_engine* engine, const char* stream,
                                             const uint64_t* ids, uint64_t count,
                                             starling_row_status* statuses,
                                             starling_counts* counts) {
  return c::guard([&] {
    const c::Engine use(engine);
    c::Outcomes outcomes(statuses, counts);
    use->remove_queries(c::stream_name_of(stream), c::array_of(ids, count, "ids"), outcomes);
    outcomes.write();
  });
}

starling_code starling_engine_tick(starling_engine* engine, int64_t tau_us,
                                   starling_result** result) {
  return c::guard([&] {
    c::check_place(result, "result");
    const c::Engine use(engine);
    use->begin_tick(tau_us);
    c::give(use->finish_tick(), result);
  });
}

starling_code starling_engine_begin_tick(starling_engine* engine, int64_t tau_us) {
  return c::guard([&] { c::Engine(engine)->begin_tick(tau_us); });
}

starling_code starling_engine_finish_tick(starling_engine* engine, starling_result** result) {
  return c::guard([&] {
    c::check_place(result, "result");
    c::give(c::Engine(engine)->finish_tick(), result);
  });
}

starling_code starling_engine_neighbors(starling_engine* engine, const starling_query* questions,
                                        uint64_t count, starling_result** result) {
  return c::guard([&] {
    c::check_place(result, "result");
    const c::Engine use(engine);
    c::give(use->answer(c::queries_of(questions, count, c::Asked::once, use->limits())), result);
  });
}
