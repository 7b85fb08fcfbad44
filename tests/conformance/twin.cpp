// SPDX-License-Identifier: Apache-2.0
// Gives inputs to the engine and the oracle, compares their lists, and describes differences: see
// twin.hpp.
#include "tests/conformance/twin.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/words.hpp"

namespace starling::test {

namespace {

using ::testing::ElementsAreArray;

constexpr std::chrono::seconds answer_timeout{60};

std::string name_of(const ListKey& key) {
  std::string name =
      "stream " + std::to_string(key.stream) + ", query " + std::to_string(to_number(key.query));
  if (key.subject) name += ", subject " + std::to_string(to_number(*key.subject));
  return name;
}

ListKey key_of(std::uint32_t stream, const QueryReport& report) {
  ListKey key{stream, report.query, std::nullopt};
  if (report.has_subject) key.subject = report.subject;
  return key;
}

template <class Row, class Call>
UpdateStatus status_of(const Row& row, Call&& call) {
  UpdateStatus status{};
  const UpdateCounts counts = call(std::span<const Row>(&row, 1), std::span(&status, 1));
  EXPECT_EQ(counts.accepted, status == UpdateStatus::accepted ? 1u : 0u);
  EXPECT_EQ(counts.late, status == UpdateStatus::late ? 1u : 0u);
  EXPECT_EQ(counts.accepted + counts.late + counts.rejected, 1u);
  return status;
}

std::vector<ObjectId> ids_of(const List& list) {
  std::vector<ObjectId> ids;
  for (const Neighbor& neighbor : list) ids.push_back(neighbor.object);
  return ids;
}

/// Compares without GoogleTest's matchers first, because they are slow. They run only after a
/// mismatch, which they explain well.
template <class T>
void expect_equal(std::span<const T> actual, const std::vector<T>& expected) {
  if (std::equal(actual.begin(), actual.end(), expected.begin(), expected.end())) return;
  EXPECT_THAT(std::vector<T>(actual.begin(), actual.end()), ElementsAreArray(expected));
}

/// Compares the bits, so that NaN equals itself.
void expect_same_mean(const std::optional<double>& actual, const std::optional<double>& expected) {
  const auto bits = [](const std::optional<double>& mean) {
    return mean ? std::optional(std::bit_cast<std::uint64_t>(*mean)) : std::nullopt;
  };
  EXPECT_EQ(bits(actual), bits(expected))
      << actual.value_or(-1) << " instead of " << expected.value_or(-1);
}

template <class Number>
std::optional<Number> entry_of(const std::map<ListKey, Number>& entries, const ListKey& key) {
  const auto found = entries.find(key);
  return found == entries.end() ? std::nullopt : std::optional<Number>(found->second);
}

void expect_as_promised(ReportOn on, const List& held, const List& list) {
  if (held == list) return;
  switch (on) {
    case ReportOn::membership:
      EXPECT_THAT(ids_of(held), ::testing::UnorderedElementsAreArray(ids_of(list)));
      break;
    case ReportOn::order:
      EXPECT_THAT(ids_of(held), ElementsAreArray(ids_of(list)));
      break;
    case ReportOn::distance:
      EXPECT_THAT(held, ElementsAreArray(list));
      break;
  }
}

template <class Call>
Answers wait_for(Call&& call) {
  auto promise = std::make_shared<std::promise<Answers>>();
  std::future<Answers> future = promise->get_future();
  call([promise](Answers answers) { promise->set_value(std::move(answers)); });
  if (future.wait_for(answer_timeout) != std::future_status::ready) {
    ADD_FAILURE() << "the engine did not answer within " << answer_timeout.count() << " s";
    return {};
  }
  return future.get();
}

}  // namespace

Answers ask(Engine& engine, std::vector<OneShotQuery> questions) {
  return wait_for([&](auto handler) { engine.search_finished(std::move(questions), handler); });
}

Answers read_lists(Engine& engine, std::vector<Slot> queries) {
  return wait_for([&](auto handler) { engine.read_lists(std::move(queries), handler); });
}

void Subscriber::apply(std::uint32_t stream, const QueryReport& report) {
  const ListKey key = key_of(stream, report);
  if (report.event == ListEvent::updated) {
    lists_[key] = List(report.neighbors.begin(), report.neighbors.end());
  } else if (report.has_subject) {
    lists_.erase(key);
  } else {
    std::erase_if(lists_, [&](const auto& held) {
      return held.first.stream == stream && held.first.query == key.query;
    });
  }
}

Twin::Twin(const EngineChoice& engine, const TwinOptions& options)
    : engine_(engine), is_ahead_(options.ahead), oracle_(options.oracle) {
  options_.space.space = options.space;
  options_.space.dimension = options.oracle.dimension;
  options_.space.metric = options.oracle.metric;
  options_.objects.object_ttl_us = options.oracle.object_ttl_us;
  options_.objects.tombstone_ttl_us = options.oracle.tombstone_ttl_us;
  start_processor(options.threads);
}

void Twin::start_processor(int threads) {
  clock_.reset();
  std::unique_ptr<Engine> engine = engine_.make(options_.space, threads);
  EXPECT_EQ(engine->name(), engine_.name);
  processor_ = std::make_unique<Processor>(options_, std::move(engine));
  clock_ = std::make_unique<LockStep>(*processor_);
}

void Twin::move_to_new_engine(int threads) {
  finish_ticks();
  const ProcessorState state = processor_->export_state();
  start_processor(threads);
  processor_->import_state(state);
}

UpdateStatus Twin::update(const ObjectUpdate& row) {
  const UpdateStatus status = status_of(
      row, [&](auto rows, auto to) { return processor_->update(rows, time_us_max_, to); });
  EXPECT_EQ(to_string(status), to_string(oracle_.update(row, time_us_max_)));
  return status;
}

UpdateStatus Twin::update_vector(const VectorUpdate& row, const std::vector<float>& components) {
  const UpdateStatus status = status_of(row, [&](auto rows, auto to) {
    const VectorsView view{components, options_.space.dimension};
    return processor_->update_vectors(rows, view, time_us_max_, to);
  });
  EXPECT_EQ(to_string(status), to_string(oracle_.update_vector(row, components, time_us_max_)));
  return status;
}

UpdateStatus Twin::update_tags(const TagUpdate& row) {
  const UpdateStatus status = status_of(
      row, [&](auto rows, auto to) { return processor_->update_tags(rows, time_us_max_, to); });
  EXPECT_EQ(to_string(status), to_string(oracle_.update_tags(row, time_us_max_)));
  return status;
}

UpdateStatus Twin::remove(ObjectId id, std::int64_t time_us) {
  const ObjectRemoval row{id, time_us};
  const UpdateStatus status = status_of(
      row, [&](auto rows, auto to) { return processor_->remove_objects(rows, time_us_max_, to); });
  EXPECT_EQ(to_string(status), to_string(oracle_.remove(row, time_us_max_)));
  return status;
}

std::uint32_t Twin::put_stream(const StreamDefinition& definition) {
  EXPECT_EQ(processor_->put_stream(definition), StreamStatus::accepted);
  const std::uint32_t stream = oracle_.put_stream(definition);
  EXPECT_EQ(processor_->queries().find_stream(definition.name), StreamId{stream});
  if (stream == weakest_on_.size()) weakest_on_.push_back(definition.on);
  weakest_on_[stream] = std::min(weakest_on_[stream], definition.on);
  return stream;
}

QueryStatus Twin::put_query(std::uint32_t stream, const QueryDefinition& definition) {
  QueryStatus status{};
  processor_->put_queries(StreamId{stream}, std::span(&definition, 1), std::span(&status, 1));
  EXPECT_EQ(to_string(status), to_string(oracle_.put_query(stream, definition)));
  return status;
}

QueryStatus Twin::remove_query(std::uint32_t stream, QueryId id) {
  QueryStatus status{};
  processor_->remove_queries(StreamId{stream}, std::span(&id, 1), std::span(&status, 1));
  EXPECT_EQ(to_string(status), to_string(oracle_.remove_query(stream, id)));
  return status;
}

OracleTick Twin::tick(std::int64_t tau_us) {
  OracleTick expected = oracle_.tick(tau_us);
  begin_tick({tau_us, expected, oracle_.lists()});
  return expected;
}

void Twin::begin_failing_tick(std::int64_t tau_us) {
  begin_tick({tau_us, std::nullopt});
}

void Twin::begin_tick(BegunTick tick) {
  if (begun_.size() > 1) finish_tick();
  clock_->begin(tick.tau_us);
  begun_.push_back(std::move(tick));
  if (!is_ahead_) finish_tick();
}

void Twin::finish_ticks() {
  while (!begun_.empty()) finish_tick();
}

void Twin::finish_tick() {
  const BegunTick begun = std::move(begun_.front());
  begun_.pop_front();
  const TickReport report = clock_->finish();
  EXPECT_EQ(report.tau_us, begun.tau_us);
  if (!begun.expected) {
    EXPECT_NE(report.error, "") << "the tick should have failed";
    for (const StreamReport& stream : report.streams) EXPECT_TRUE(stream.queries.empty());
    return;
  }
  EXPECT_EQ(report.error, "");
  EXPECT_EQ(report.objects, begun.expected->objects);
  EXPECT_EQ(report.newest_time_us, begun.expected->newest_time_us);
  compare_reports(report, *begun.expected);
  compare_subscriber(report, begun.lists);
  record(*report.result);
}

void Twin::fail_tick(std::int64_t tau_us) {
  begin_failing_tick(tau_us);
  finish_ticks();
}

void Twin::compare_reports(const TickReport& report, const OracleTick& expected) {
  auto missing = expected.reports;
  for (std::size_t i = 0; i < report.streams.size(); ++i) {
    const auto stream = static_cast<std::uint32_t>(i);
    EXPECT_EQ(report.streams[i].stream, StreamId{stream});
    for (const QueryReport& actual : report.streams[i].queries) {
      const ListKey key = key_of(stream, actual);
      SCOPED_TRACE(name_of(key));
      const auto wanted = missing.extract(key);
      if (wanted.empty()) {
        ADD_FAILURE() << (expected.reports.contains(key) ? "reported twice"
                                                         : "should not be reported")
                      << ", event " << static_cast<int>(actual.event) << ", "
                      << actual.neighbors.size() << " neighbours";
        continue;
      }
      EXPECT_EQ(actual.event, wanted.mapped().event);
      expect_equal(actual.neighbors, wanted.mapped().neighbors);
      expect_equal(actual.states, wanted.mapped().states);
      EXPECT_EQ(actual.vote, wanted.mapped().vote);
      expect_same_mean(actual.mean, wanted.mapped().mean);
    }
  }
  for (const auto& [key, wanted] : missing) ADD_FAILURE() << "not reported: " << name_of(key);
}

void Twin::compare_subscriber(const TickReport& report, const Lists& expected) {
  for (std::size_t i = 0; i < report.streams.size(); ++i)
    for (const QueryReport& query : report.streams[i].queries)
      subscriber_.apply(static_cast<std::uint32_t>(i), query);
  EXPECT_EQ(subscriber_.lists().size(), expected.size());
  for (const auto& [key, list] : expected) {
    SCOPED_TRACE(name_of(key));
    const auto held = subscriber_.lists().find(key);
    if (held == subscriber_.lists().end())
      ADD_FAILURE() << "it was never reported to the subscriber";
    else
      expect_as_promised(weakest_on_[key.stream], held->second, list);
  }
}

void Twin::record(const TickResult& result) {
  const auto add = [&](std::uint64_t number) { transcript_.push_back(number); };
  add(to_number(result.tick));
  add(result.objects);
  for (const ReportedList& list : result.lists) {
    add(list.query);
    add(static_cast<std::uint64_t>(list.event));
    add(list.has_subject ? to_number(list.subject) + 1 : 0);
    add(list.count);
    add(list.first_state);
    for (const Neighbor& neighbor : result.neighbors.subspan(list.first, list.count)) {
      add(to_number(neighbor.key));
      add(to_number(neighbor.object));
    }
  }
  for (const Prediction& prediction : result.predictions) {
    add(prediction.vote ? 1 : 0);
    add(static_cast<std::uint64_t>(prediction.vote.value_or(0)));
    add(prediction.mean ? 1 : 0);
    add(std::bit_cast<std::uint64_t>(prediction.mean.value_or(0)));
  }
  for (const NeighborState& state : result.states) {
    add(static_cast<std::uint32_t>(state.position.x));
    add(static_cast<std::uint32_t>(state.position.y));
    add(static_cast<std::uint32_t>(state.position.z));
    add(state.tags);
  }
}

void Twin::compare_current_lists() {
  finish_ticks();
  std::vector<Slot> slots;
  std::map<Slot, ListKey> owners;
  for (std::uint32_t stream = 0; stream < processor_->queries().stream_count(); ++stream)
    for (const auto& [id, slot] : processor_->queries().members_of(StreamId{stream})) {
      slots.push_back(slot);
      owners[slot] = {stream, id, std::nullopt};
    }
  const Answers answers = read_lists(processor_->engine(), slots);
  EXPECT_EQ(answers.error, "");
  Lists wanted = oracle_.lists();
  for (const Answers::List& list : answers.lists) {
    ListKey key = owners.at(list.query);
    if (list.has_subject) key.subject = list.subject;
    SCOPED_TRACE("current list of " + name_of(key));
    const auto expected = wanted.extract(key);
    if (expected.empty()) {
      ADD_FAILURE() << "no tick made this list, or it was returned twice";
      continue;
    }
    expect_equal(std::span<const Neighbor>(answers.neighbors).subspan(list.first, list.count),
                 expected.mapped());
    EXPECT_EQ(list.prediction.vote, entry_of(oracle_.votes(), expected.key()));
    expect_same_mean(list.prediction.mean, entry_of(oracle_.means(), expected.key()));
    const ReportWith& with = processor_->queries().stream(StreamId{key.stream}).with;
    EXPECT_EQ(list.first_state != ReportedList::no_state, with.position || with.tags);
    if (list.first_state != ReportedList::no_state)
      expect_equal(
          std::span<const NeighborState>(answers.states).subspan(list.first_state, list.count),
          oracle_.states_of(expected.mapped()));
  }
  for (const auto& [key, list] : wanted) ADD_FAILURE() << "missing in the answer: " << name_of(key);
}

void Twin::compare_answer(std::uint32_t k, const Anchor& anchor, const Filter& filter,
                          const std::vector<float>& components) {
  finish_ticks();
  OneShotQuery question;
  question.k = k;
  question.anchor = anchor.kind;
  question.position = anchor.position;
  question.filter = filter;
  question.components = components;
  question.vote = options_.space.is_vector();
  if (options_.space.is_vector())
    question.regress = options_.space.metric == Metric::inner_product ? RegressionWeights::uniform
                                                                      : RegressionWeights::distance;
  if (anchor.kind == AnchorKind::follow) question.object = processor_->find_object(anchor.object);
  const Answers answers = ask(processor_->engine(), {question});
  EXPECT_EQ(answers.error, "");
  const List expected = oracle_.answer(k, anchor, filter, components);
  ASSERT_EQ(answers.lists.size(), 1u);
  EXPECT_EQ(answers.lists[0].query, 0u);
  EXPECT_EQ(answers.lists[0].count, answers.neighbors.size());
  EXPECT_EQ(answers.lists[0].is_unknown,
            anchor.kind == AnchorKind::follow && !oracle_.has(anchor.object));
  EXPECT_EQ(answers.tick, processor_->last_tick());
  expect_equal<Neighbor>(answers.neighbors, expected);
  const std::optional<Label> vote =
      question.vote ? std::optional(oracle_.vote_of(expected)) : std::nullopt;
  EXPECT_EQ(answers.lists[0].prediction.vote, vote);
  const std::optional<double> mean =
      question.vote ? std::optional(oracle_.mean_of(expected, question.regress)) : std::nullopt;
  expect_same_mean(answers.lists[0].prediction.mean, mean);
  EXPECT_TRUE(answers.states.empty());
}

List Twin::list(std::uint32_t stream, std::uint64_t query, std::optional<ObjectId> subject) const {
  const auto held = subscriber_.lists().find({stream, QueryId{query}, subject});
  if (held != subscriber_.lists().end()) return held->second;
  ADD_FAILURE() << "no subscriber has " << name_of({stream, QueryId{query}, subject});
  return {};
}

bool Twin::has_list(std::uint32_t stream, std::uint64_t query,
                    std::optional<ObjectId> subject) const {
  return subscriber_.lists().contains({stream, QueryId{query}, subject});
}

}  // namespace starling::test
