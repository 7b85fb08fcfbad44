// SPDX-License-Identifier: Apache-2.0
// The functions of starling.h for the engine in the caller's process. They check what the caller
// gives and call EngineHandle.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "starling/clients/c/engine_handle.hpp"
#include "starling/clients/c/inputs.hpp"
#include "starling/clients/c/structs.hpp"

namespace starling::c {
namespace {

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
