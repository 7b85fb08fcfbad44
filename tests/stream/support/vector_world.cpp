// SPDX-License-Identifier: Apache-2.0
// Sends random batches to the server and to the model: see vector_world.hpp.
#include "tests/stream/support/vector_world.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/vector_oracle.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t objects_a_producer = 40;
constexpr std::uint64_t queries_max = 12;
constexpr std::int64_t object_ttl_us = 6;

ServerOptions options_of(const SpaceOptions& space) {
  ServerOptions options = manual_options();
  options.processor.space = space;
  options.processor.objects.object_ttl_us = object_ttl_us;
  options.subscriber_ticks_max = 2;
  return options;
}

Label winner(const std::vector<std::pair<Label, double>>& ballots) {
  struct Sum {
    std::size_t count = 0;
    double distance = 0;
  };
  std::map<Label, Sum> sums;
  for (const auto& [label, distance] : ballots) {
    if (label == no_label) continue;
    ++sums[label].count;
    sums[label].distance += distance;
  }
  Label best = no_label;
  for (const auto& [label, sum] : sums) {  // ascending: the smallest label wins ties
    const bool is_better = best == no_label || sum.count > sums[best].count ||
                           (sum.count == sums[best].count && sum.distance < sums[best].distance);
    if (is_better) best = label;
  }
  return best;
}

/// Returns the mean of the values. `weight_of` returns the weight of a neighbour at a distance.
std::optional<double> weighted_mean(const std::vector<std::pair<double, double>>& values,
                                    const std::function<double(double)>& weight_of) {
  double sum = 0;
  double weights = 0;
  for (const auto& [value, distance] : values) {
    if (std::isnan(value)) continue;
    weights += weight_of(distance);
    sum += weight_of(distance) * value;
  }
  return weights > 0 ? std::optional(sum / weights) : std::nullopt;
}

/// Returns the mean. `values` has the value and the distance of each neighbour.
std::optional<double> mean_of(const std::vector<std::pair<double, double>>& values,
                              RegressionWeights weights) {
  const auto all = [](double) { return 1.0; };
  if (weights == RegressionWeights::uniform) return weighted_mean(values, all);
  const auto only_same = [](double distance) { return distance == 0 ? 1.0 : 0.0; };
  if (const auto mean = weighted_mean(values, only_same)) return mean;
  return weighted_mean(values, [](double distance) { return distance == 0 ? 0 : 1 / distance; });
}

}  // namespace

void VectorModel::update(const Row& row) {
  const auto known = objects_.find(row.id);
  if (known != objects_.end() && row.time_us < known->second.time_us) return;
  Object& object = objects_[row.id];
  object.time_us = row.time_us;
  object.alive = true;
  object.prepared = prepared(row.vector);
  object.tags = row.tags;
  if (row.label) object.label = *row.label;
  if (row.value) object.value = *row.value;
}

void VectorModel::remove(std::uint64_t id, std::int64_t time_us) {
  const auto known = objects_.find(id);
  if (known != objects_.end() && time_us < known->second.time_us) return;
  objects_[id] = {.time_us = time_us, .prepared = {}};
}

void VectorModel::tick(std::int64_t tau_us) {
  tau_us_ = tau_us;
  snapshot_.clear();
  for (auto& [id, object] : objects_) {
    if (tau_us - object.time_us > object_ttl_us_) object.alive = false;
    if (object.alive) snapshot_[id] = object;
  }
  lists_.clear();
  for (const auto& [id, query] : queries_) {
    if (query.anchor != AnchorKind::every_object) {
      lists_[{.query = query.id}] = answer(query);
      continue;
    }
    for (const auto& [subject, object] : snapshot_)
      if ((object.tags & query.subject.required) == query.subject.required &&
          (object.tags & query.subject.forbidden) == 0)
        lists_[{query.id, true, ObjectId{subject}}] = list(query, object.prepared, subject);
  }
}

protocol::HeldList VectorModel::answer(const protocol::QuerySpec& question) const {
  if (question.anchor == AnchorKind::fixed)
    return list(question, prepared(question.vector), std::nullopt);
  const auto followed = snapshot_.find(to_number(question.object));
  if (followed == snapshot_.end()) return {};
  return list(question, followed->second.prepared, followed->first);
}

protocol::HeldList VectorModel::list(const protocol::QuerySpec& query,
                                     const std::vector<float>& from,
                                     std::optional<std::uint64_t> excluded) const {
  struct Candidate {
    float score = 0;
    std::uint64_t id = 0;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  for (const auto& [id, object] : snapshot_) {
    const bool passes = (object.tags & query.tags.required) == query.tags.required &&
                        (object.tags & query.tags.forbidden) == 0 &&
                        tau_us_ - object.time_us <= query.age_max_us &&
                        distance(from, object.prepared) <= query.distance_max_m;
    if (passes && id != excluded)
      candidates.push_back({test::vector_oracle_score(metric_, from, object.prepared), id});
  }
  std::sort(candidates.begin(), candidates.end());
  if (candidates.size() > query.k) candidates.resize(query.k);
  protocol::HeldList list;
  std::vector<std::pair<Label, double>> ballots;
  std::vector<std::pair<double, double>> values;
  for (const Candidate& each : candidates) {
    const Object& object = snapshot_.at(each.id);
    list.neighbors.push_back({ObjectId{each.id}, distance(from, object.prepared)});
    ballots.emplace_back(object.label, list.neighbors.back().distance_m);
    values.emplace_back(object.value, list.neighbors.back().distance_m);
  }
  if (query.vote) list.vote = winner(ballots);
  if (query.regress != RegressionWeights::none) list.mean = mean_of(values, query.regress);
  return list;
}

// Returns the vector as its metric needs it. Adds one component after another in float64.
std::vector<float> VectorModel::prepared(const std::vector<float>& raw) const {
  std::vector<float> row;
  if (metric_ == Metric::kullback_leibler) {
    double sum = 0;
    for (const float component : raw) sum += component;
    for (const float component : raw)
      row.push_back(sum > 0 ? static_cast<float>(component / sum) : 0.0f);
    return row;
  }
  if (metric_ != Metric::cosine && metric_ != Metric::hellinger) return raw;
  double square_sum = 0;
  for (const float component : raw) square_sum += double{component} * component;
  const double length = std::sqrt(square_sum);
  for (const float component : raw) {
    if (metric_ == Metric::hellinger)
      row.push_back(static_cast<float>(std::sqrt(double{component})));
    else
      row.push_back(length > 0 ? static_cast<float>(component / length) : 0.0f);
  }
  return row;
}

double VectorModel::distance(const std::vector<float>& x, const std::vector<float>& y) const {
  const double score = test::vector_oracle_score(metric_, x, y);
  switch (metric_) {
    case Metric::l2:
      return std::sqrt(score);
    case Metric::hellinger:
      return std::sqrt(score / 2);
    case Metric::cosine:
      return score / 2;
    default:
      return score;
  }
}

VectorWorld::VectorWorld(const SpaceOptions& space, test::Random& random)
    : random_(random),
      space_(space),
      server_(options_of(space)),
      client_(server_.client()),
      model_(space.metric, object_ttl_us) {
  for (int producer = 0; producer < 2; ++producer) producers_.push_back(server_.client());
  EXPECT_TRUE(client_.put_stream({.name = "all", .on = ReportOn::distance, .with = {}}));
  EXPECT_TRUE(client_.put_stream(
      {.name = "members", .on = ReportOn::membership, .with = {.distance = false}}));
  for (std::uint64_t id = 0; id < queries_max / 2; ++id) put(random_query(id));
}

// Returns a vector whose components have only a few different values, so that some distances are
// equal.
std::vector<float> VectorWorld::random_vector() {
  std::vector<float> vector(space_.dimension);
  for (float& component : vector) {
    component = static_cast<float>(random_.below(5));
    if (allows_negatives(space_.metric)) component -= 2;
  }
  return vector;
}

protocol::QuerySpec VectorWorld::random_query(std::uint64_t id) {
  protocol::QuerySpec query{.id = QueryId{id},
                            .k = static_cast<std::uint32_t>(1 + random_.below(7)),
                            .anchor = static_cast<AnchorKind>(random_.below(3)),
                            .vote = random_.chance(0.6)};
  const bool has_weights = space_.metric != Metric::inner_product;
  query.regress = static_cast<RegressionWeights>(random_.below(has_weights ? 3 : 2));
  if (query.anchor == AnchorKind::fixed) query.vector = random_vector();
  if (query.anchor == AnchorKind::follow)
    query.object = ObjectId{random_.below(objects_a_producer)};
  if (random_.chance(0.3)) query.tags = {1, 2};
  if (random_.chance(0.3)) query.distance_max_m = 0.5 * static_cast<double>(random_.below(8));
  if (random_.chance(0.2)) query.age_max_us = 2;
  if (query.anchor == AnchorKind::every_object && random_.chance(0.5)) query.subject = {2, 0};
  return query;
}

std::vector<protocol::QuerySpec> VectorWorld::questions() {
  std::vector<protocol::QuerySpec> questions;
  while (questions.size() < 20) {
    protocol::QuerySpec question = random_query(questions.size());
    if (question.anchor != AnchorKind::every_object) questions.push_back(question);
  }
  return questions;
}

void VectorWorld::put(const protocol::QuerySpec& query) {
  for (const char* stream : {"all", "members"})
    EXPECT_EQ(client_.put_queries({stream, {query}}).value().accepted, 1u);
  model_.put(query);
}

void VectorWorld::send_batch(protocol::Client& producer, std::uint64_t first_id) {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<float> components;
  std::vector<std::uint32_t> tags;
  std::vector<Label> labels;
  std::vector<double> values;
  const bool has_labels = random_.chance(0.5);
  const bool has_values = random_.chance(0.5);
  for (std::uint64_t count = random_.below(objects_a_producer); count > 0; --count) {
    ids.push_back(first_id + random_.below(objects_a_producer));
    times_us.push_back(tau_us_ - static_cast<std::int64_t>(random_.below(3)));
    tags.push_back(static_cast<std::uint32_t>(random_.below(4)));
    const std::vector<float> vector = random_vector();
    components.insert(components.end(), vector.begin(), vector.end());
    if (has_labels)
      labels.push_back(random_.chance(0.2) ? no_label : static_cast<Label>(random_.below(4)) - 1);
    if (has_values) values.push_back(random_.chance(0.2) ? no_value : random_.normal());
    model_.update({.id = ids.back(),
                   .time_us = times_us.back(),
                   .vector = vector,
                   .tags = tags.back(),
                   .label = has_labels ? std::optional(labels.back()) : std::nullopt,
                   .value = has_values ? std::optional(values.back()) : std::nullopt});
  }
  const std::vector<double> wide(components.begin(), components.end());
  const bool is_wide = random_.chance(0.5);
  protocol::UpdateBatch batch{.ids = ids,
                              .times_us = times_us,
                              .tags = tags,
                              .dimension = space_.dimension,
                              .labels = labels,
                              .values = values};
  if (is_wide)
    batch.coordinates = wide;
  else
    batch.coordinates_f32 = components;
  EXPECT_EQ(producer.update(batch).value().rejected, 0u);
}

void VectorWorld::remove_some() {
  const std::vector<std::uint64_t> ids{random_.below(2 * objects_a_producer)};
  const std::vector<std::int64_t> times_us{tau_us_};
  EXPECT_TRUE(client_.remove_objects({ids, times_us}));
  model_.remove(ids[0], tau_us_);
}

void VectorWorld::go_on() {
  ++tau_us_;
  for (std::size_t producer = 0; producer < producers_.size(); ++producer)
    if (random_.chance(0.7)) send_batch(producers_[producer], producer * objects_a_producer);
  if (random_.chance(0.4)) remove_some();
  if (random_.chance(0.3)) put(random_query(random_.below(queries_max)));
  if (random_.chance(0.1)) {
    const std::vector<std::uint64_t> ids{random_.below(queries_max)};
    for (const char* stream : {"all", "members"})
      EXPECT_TRUE(client_.remove_queries({stream, ids}));
    model_.remove_query(ids[0]);
  }
  EXPECT_TRUE(client_.advance_tick(tau_us_));
  model_.tick(tau_us_);
  history_[tau_us_] = model_.lists();
}

}  // namespace starling::stream
