// SPDX-License-Identifier: Apache-2.0
// Passes the caller's rows, queries and questions to the Processor, and turns its reports into
// results: see engine_handle.hpp.
#include "starling/clients/c/engine_handle.hpp"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>
#include <variant>

#include "starling/protocol/rows/conversions.hpp"
#include "starling/protocol/rows/row_outcomes.hpp"
#include "starling/protocol/wire/check.hpp"

namespace starling::c {

using protocol::RowReason;

namespace {

constexpr std::int64_t any_time_us = std::numeric_limits<std::int64_t>::max();

// Rows are converted and staged in parts, to bound the memory of the converted rows.
constexpr std::uint64_t rows_at_once_max = std::uint64_t{1} << 16;
constexpr std::uint64_t part_bytes = std::uint64_t{16} << 20;

std::uint64_t rows_at_once(const SpaceOptions& space) {
  if (!space.is_vector()) return rows_at_once_max;
  return std::min(rows_at_once_max, part_bytes / (space.dimension * sizeof(float)));
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

}  // namespace

EngineHandle::EngineHandle(const ProcessorOptions& options, const BackendChoice& backend)
    : limits_(limits_of(options)),
      space_(options.space),
      processor_(options, make_engine(backend, options.space)),
      lock_step_(processor_),
      name_(processor_.engine().name()) {}

template <class Set, class Update>
void EngineHandle::apply(Set& set, Outcomes& outcomes, Update update) {
  statuses_.resize(set.rows.size());
  update(std::span<UpdateStatus>(statuses_));
  protocol::merge_statuses<UpdateStatus>(statuses_, set.reasons);
  outcomes.add(set.reasons);
}

void EngineHandle::update(Rows rows, std::int64_t time_us_max, Outcomes& outcomes) {
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

void EngineHandle::update_tags(const protocol::UpdateTags& batch, Outcomes& outcomes) {
  auto set = protocol::convert(batch);
  apply(set, outcomes,
        [&](auto statuses) { processor_.update_tags(set.rows, any_time_us, statuses); });
}

void EngineHandle::remove_objects(const protocol::RemoveObjects& batch, Outcomes& outcomes) {
  auto set = protocol::convert(batch);
  apply(set, outcomes,
        [&](auto statuses) { processor_.remove_objects(set.rows, any_time_us, statuses); });
}

void EngineHandle::put_stream(const protocol::PutStream& stream) {
  const std::string name(stream.name);
  const StreamStatus status =
      processor_.put_stream({.name = name, .on = stream.on, .with = stream.with});
  if (status != StreamStatus::accepted)
    fail({.code = protocol::ErrorCode::too_many_streams,
          .sentence = "The engine has " + std::to_string(processor_.options().queries.streams_max) +
                      " streams, which is its limit; remove one first.",
          .limit = {"streams-max", processor_.options().queries.streams_max}});
  const auto id = static_cast<std::size_t>(*processor_.queries().find_stream(name));
  if (names_.size() <= id) names_.resize(id + 1);
  names_[id] = name;
}

void EngineHandle::remove_stream(const std::string& name) {
  processor_.remove_stream(find_stream(name));
}

void EngineHandle::put_queries(const std::string& stream, std::vector<protocol::QuerySpec> specs,
                               Outcomes& outcomes) {
  const StreamId id = find_stream(stream);
  const protocol::PutQueries request{.stream = stream, .queries = std::move(specs)};
  protocol::RowSet<QueryDefinition> set = protocol::convert(request, space_);
  if (const auto refusal = protocol::set_leases(request, processor_.last_tau_us(), set))
    fail(*refusal);
  std::vector<QueryStatus> statuses(set.rows.size());
  processor_.put_queries(id, set.rows, statuses);
  protocol::merge_statuses<QueryStatus>(statuses, set.reasons);
  outcomes.add(set.reasons);
}

void EngineHandle::remove_queries(const std::string& stream, std::span<const std::uint64_t> ids,
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

void EngineHandle::begin_tick(std::int64_t tau_us) {
  if (processor_.tick_under_way()) fail(STARLING_REFUSED, "A tick is under way; finish it first.");
  if (const auto problem = protocol::check_tau(tau_us)) fail(*problem);
  if (processor_.last_tau_us().value_or(tau_us) > tau_us)
    fail({.code = protocol::ErrorCode::tau_too_early,
          .sentence = "tau_us is " + std::to_string(tau_us) + ", but the last tick's was " +
                      std::to_string(*processor_.last_tau_us()) + "; time does not go back.",
          .limit = {}});
  lock_step_.begin(tau_us);
}

std::unique_ptr<ResultHandle> EngineHandle::finish_tick() {
  if (!processor_.tick_under_way())
    fail(STARLING_REFUSED, "No tick is under way; begin one first.");
  const TickReport report = lock_step_.finish();
  if (!report.error.empty()) fail(STARLING_TICK_FAILED, report.error);
  return result_of(report);
}

std::unique_ptr<ResultHandle> EngineHandle::answer(std::vector<protocol::QuerySpec> specs) {
  const protocol::GetNeighbors request{.questions = std::move(specs)};
  std::vector<OneShotQuery> questions;
  if (const auto problem = protocol::convert_questions(request, space_, questions)) fail(*problem);
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

StreamId EngineHandle::find_stream(const std::string& name) const {
  const auto id = processor_.queries().find_stream(name);
  if (!id)
    fail({.code = protocol::ErrorCode::unknown_stream,
          .sentence = "There is no stream \"" + name + "\"; put it first.",
          .limit = {}});
  return *id;
}

std::unique_ptr<ResultHandle> EngineHandle::result_of(const TickReport& report) {
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

void EngineHandle::add_reports(std::span<const QueryReport> reports, ListArrays& arrays) const {
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

void EngineHandle::add_entry(const Neighbor& neighbor, ListArrays& arrays) const {
  arrays.add_entry(neighbor.object, processor_.to_distance(neighbor.key));
}

std::unique_ptr<ResultHandle> EngineHandle::result_of(const Answers& answers) const {
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
  std::vector<std::uint32_t> unknown;
  for (const Answers::List& list : answers.lists) {
    if (list.is_unknown) unknown.push_back(list.query);
    arrays.begin_list(
        {.query = QueryId{list.query}, .vote = list.prediction.vote, .mean = list.prediction.mean});
    for (std::uint64_t i = list.first; i < list.first + list.count; ++i)
      add_entry(answers.neighbors[i], arrays);
  }
  arrays.set_unknown(unknown);
  result->streams.push_back(std::move(arrays));
  return result;
}

}  // namespace starling::c
