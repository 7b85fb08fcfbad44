// SPDX-License-Identifier: Apache-2.0
// Implements Oracle in the simplest way, so that it is evidently right: with linear scans, sorts
// and 128-bit sums. See oracle.hpp.
#include "tests/support/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "tests/support/vector_oracle.hpp"

namespace starling::test {

namespace {

__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

constexpr std::int64_t time_us_limit = std::int64_t{1} << 61;

Wide square_of_difference(std::int32_t a, std::int32_t b) {
  const SignedWide difference = static_cast<SignedWide>(a) - b;
  return static_cast<Wide>(difference * difference);
}

Wide squared_distance(const LatticePoint& a, const LatticePoint& b) {
  return square_of_difference(a.x, b.x) + square_of_difference(a.y, b.y) +
         square_of_difference(a.z, b.z);
}

// Returns a number that grows with the score. The bits without the sign bit grow with the magnitude
// of the score. So they are added if the score is positive, and subtracted if it is negative.
Wide in_order(float score) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &score, sizeof bits);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  return score < 0 ? 0x7fffffffu - magnitude : 0x80000000u + magnitude;
}

double user_distance(Metric metric, std::uint64_t in_order) {
  const bool is_negative = in_order < 0x80000000u;
  const auto magnitude =
      static_cast<std::uint32_t>(is_negative ? 0x7fffffffu - in_order : in_order - 0x80000000u);
  float score = 0;
  std::memcpy(&score, &magnitude, sizeof score);
  if (is_negative) score = -score;
  if (metric == Metric::l2) return std::sqrt(double{score});
  if (metric == Metric::hellinger) return std::sqrt(double{score} / 2);
  if (metric == Metric::jensen_shannon) return std::sqrt(double{score} / 4);
  if (metric == Metric::cosine || metric == Metric::pearson) return double{score} / 2;
  return double{score};
}

bool time_is_in_range(std::int64_t time_us) {
  return time_us >= -time_us_limit && time_us <= time_us_limit;
}

bool tags_pass(const TagFilter& filter, std::uint32_t tags) {
  for (int bit = 0; bit < 32; ++bit) {
    const bool is_set = (tags >> bit & 1) != 0;
    if ((filter.required >> bit & 1) != 0 && !is_set) return false;
    if ((filter.forbidden >> bit & 1) != 0 && is_set) return false;
  }
  return true;
}

bool is_older_than(std::int64_t time_us, std::int64_t tau_us, std::int64_t age_us) {
  return static_cast<SignedWide>(tau_us) - time_us > age_us;
}

std::vector<ObjectId> ids_of(const List& list) {
  std::vector<ObjectId> ids;
  for (const Neighbor& neighbor : list) ids.push_back(neighbor.object);
  return ids;
}

bool changed(ReportOn on, const List& before, const List& now) {
  std::vector<ObjectId> ids_before = ids_of(before);
  std::vector<ObjectId> ids_now = ids_of(now);
  if (on == ReportOn::membership) {
    std::sort(ids_before.begin(), ids_before.end());
    std::sort(ids_now.begin(), ids_now.end());
  }
  if (ids_before != ids_now) return true;
  if (on != ReportOn::distance) return false;
  for (std::size_t i = 0; i < now.size(); ++i)
    if (before[i].key != now[i].key) return true;
  return false;
}

/// Returns whether the bits of a list's number differ in two ticks, or only one tick has a number.
template <class Number>
bool differ(const std::map<ListKey, Number>& a, const std::map<ListKey, Number>& b,
            const ListKey& key) {
  const auto in_a = a.find(key);
  const auto in_b = b.find(key);
  if (in_a == a.end() || in_b == b.end()) return (in_a == a.end()) != (in_b == b.end());
  return std::memcmp(&in_a->second, &in_b->second, sizeof(Number)) != 0;
}

}  // namespace

UpdateStatus Oracle::update(const ObjectUpdate& row, std::int64_t time_us_max) {
  if (!time_is_in_range(row.time_us)) return UpdateStatus::time_out_of_range;
  if (row.time_us > time_us_max) return UpdateStatus::future;
  const auto found = objects_.find(row.id);
  if (found != objects_.end() && row.time_us < found->second.time_us) return UpdateStatus::late;
  Object& object = objects_[row.id];
  object.time_us = row.time_us;
  object.alive = true;
  object.left_at_tau_us.reset();
  object.place.position = row.position;
  if (row.has_tags)
    object.tags = (object.tags & object.tags_owned) | (row.tags & ~object.tags_owned);
  newest_time_us_ = std::max(newest_time_us_.value_or(row.time_us), row.time_us);
  return UpdateStatus::accepted;
}

UpdateStatus Oracle::update_vector(const VectorUpdate& row, const std::vector<float>& components,
                                   std::int64_t time_us_max) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (row.has_value && (row.value > largest || row.value < -largest))
    return UpdateStatus::value_infinite;
  const ObjectUpdate plain{row.id, row.time_us, {}, row.tags, row.has_tags};
  const UpdateStatus status = update(plain, time_us_max);
  if (status != UpdateStatus::accepted) return status;
  objects_[row.id].place.components = components;
  if (row.has_label) objects_[row.id].label = row.label;
  if (row.has_value) {
    objects_[row.id].value.reset();
    if (row.value == row.value) objects_[row.id].value = row.value;
  }
  return status;
}

UpdateStatus Oracle::update_tags(const TagUpdate& row, std::int64_t time_us_max) {
  if (!time_is_in_range(row.time_us)) return UpdateStatus::time_out_of_range;
  if (row.time_us > time_us_max) return UpdateStatus::future;
  const auto found = objects_.find(row.id);
  if (found == objects_.end()) return UpdateStatus::unknown_object;
  Object& object = found->second;
  if (object.tags_time_us && row.time_us < *object.tags_time_us) return UpdateStatus::late;
  object.tags_time_us = row.time_us;
  object.tags_owned |= row.set | row.clear;
  object.tags = (object.tags & ~row.clear) | row.set;
  return UpdateStatus::accepted;
}

UpdateStatus Oracle::remove(const ObjectRemoval& row, std::int64_t time_us_max) {
  if (!time_is_in_range(row.time_us)) return UpdateStatus::time_out_of_range;
  if (row.time_us > time_us_max) return UpdateStatus::future;
  const auto found = objects_.find(row.id);
  if (found != objects_.end() && row.time_us < found->second.time_us) return UpdateStatus::late;
  Object& object = objects_[row.id];
  object.time_us = row.time_us;
  object.alive = false;
  object.left_at_tau_us.reset();
  object.tags = 0;
  object.label = no_label;
  object.value.reset();
  object.tags_owned = 0;
  object.tags_time_us = std::max(object.tags_time_us.value_or(row.time_us), row.time_us);
  return UpdateStatus::accepted;
}

std::uint32_t Oracle::put_stream(const StreamDefinition& definition) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].name != definition.name) continue;
    streams_[i] = definition;
    return static_cast<std::uint32_t>(i);
  }
  streams_.push_back(definition);
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

QueryStatus Oracle::put_query(std::uint32_t stream, const QueryDefinition& definition) {
  if (definition.k == 0) return QueryStatus::k_zero;
  if (definition.k > 1024) return QueryStatus::k_too_large;
  queries_[{stream, definition.id}] = definition;
  return QueryStatus::accepted;
}

QueryStatus Oracle::remove_query(std::uint32_t stream, QueryId id) {
  if (!queries_.contains({stream, id})) return QueryStatus::unknown_query;
  drop_query({stream, id});
  return QueryStatus::accepted;
}

void Oracle::drop_query(QueryKey key) {
  queries_.erase(key);
  removed_.push_back(key);
}

void Oracle::age_objects(std::int64_t tau_us) {
  for (auto& [id, object] : objects_)
    if (object.alive && is_older_than(object.time_us, tau_us, options_.object_ttl_us))
      object.alive = false;
  for (auto& [id, object] : objects_)
    if (!object.alive && !object.left_at_tau_us) object.left_at_tau_us = tau_us;
  std::erase_if(objects_, [&](const auto& entry) {
    const Object& object = entry.second;
    return !object.alive &&
           static_cast<SignedWide>(tau_us) - *object.left_at_tau_us >= options_.tombstone_ttl_us;
  });
}

void Oracle::take_snapshot(std::int64_t tau_us) {
  snapshot_tau_us_ = tau_us;
  snapshot_.clear();
  for (const auto& [id, object] : objects_)
    if (object.alive)
      snapshot_.push_back(
          {id, object.place, object.label, object.value, object.tags, object.time_us});
}

const Oracle::Candidate* Oracle::find_in_snapshot(ObjectId id) const {
  const auto found = std::lower_bound(
      snapshot_.begin(), snapshot_.end(), id,
      [](const Candidate& candidate, ObjectId wanted) { return candidate.id < wanted; });
  return found != snapshot_.end() && found->id == id ? &*found : nullptr;
}

List Oracle::nearest(const Place& from, std::optional<ObjectId> excluded, std::uint32_t k,
                     const Filter& filter) const {
  std::vector<std::tuple<Wide, std::uint64_t>> all;
  for (const Candidate& candidate : snapshot_) {
    const Wide distance = options_.dimension == 0
                              ? squared_distance(from.position, candidate.place.position)
                              : in_order(vector_oracle_score(options_.metric, from.components,
                                                             candidate.place.components));
    if (candidate.id == excluded || distance > to_number(filter.key_max) ||
        is_older_than(candidate.time_us, snapshot_tau_us_, filter.age_us_max) ||
        !tags_pass(filter.tags, candidate.tags))
      continue;
    all.emplace_back(distance, static_cast<std::uint64_t>(candidate.id));
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(k, all.size()));
  std::partial_sort(all.begin(), end, all.end());
  all.erase(end, all.end());
  List list;
  for (const auto& [distance, id] : all)
    list.push_back({RankKey{static_cast<std::uint64_t>(distance)}, ObjectId{id}});
  return list;
}

List Oracle::answer(std::uint32_t k, const Anchor& anchor, const Filter& filter,
                    const std::vector<float>& components) const {
  if (anchor.kind == AnchorKind::fixed)
    return nearest({anchor.position, components}, std::nullopt, k, filter);
  const Candidate* followed = find_in_snapshot(anchor.object);
  if (followed == nullptr) return {};
  return nearest(followed->place, followed->id, k, filter);
}

// First selects the neighbours that count, then adds up their weights, and last their values.
double Oracle::mean_of(const List& list, RegressionWeights weights) const {
  struct Part {
    double distance = 0;
    double value = 0;
  };
  std::vector<Part> parts;
  for (const Neighbor& neighbor : list)
    if (const auto value = find_in_snapshot(neighbor.object)->value)
      parts.push_back({user_distance(options_.metric, to_number(neighbor.key)), *value});
  const auto is_at_zero = [](const Part& part) { return part.distance == 0; };
  bool is_weighted = weights == RegressionWeights::distance;
  if (is_weighted && std::any_of(parts.begin(), parts.end(), is_at_zero)) {
    std::erase_if(parts, [&](const Part& part) { return !is_at_zero(part); });
    is_weighted = false;
  }
  const auto weight = [&](const Part& part) { return is_weighted ? 1.0 / part.distance : 1.0; };
  double divisor = 0;
  for (const Part& part : parts) divisor += weight(part);
  double sum = 0;
  for (const Part& part : parts) sum += weight(part) * part.value;
  const double mean = sum / divisor;
  return mean == mean ? mean : no_value;
}

// For each label, scans the whole list again to count the votes for it.
Label Oracle::vote_of(const List& list) const {
  Label best = no_label;
  std::size_t best_count = 0;
  double best_sum = 0;
  for (const Neighbor& candidate : list) {
    const Label label = find_in_snapshot(candidate.object)->label;
    if (label == no_label) continue;
    std::size_t count = 0;
    double sum = 0;
    for (const Neighbor& neighbor : list) {
      if (find_in_snapshot(neighbor.object)->label != label) continue;
      ++count;
      sum += user_distance(options_.metric, to_number(neighbor.key));
    }
    const bool is_better =
        count > best_count || (count == best_count && sum < best_sum) ||
        (count == best_count && sum == best_sum && best != no_label && label < best);
    if (!is_better) continue;
    best = label;
    best_count = count;
    best_sum = sum;
  }
  return best;
}

Lists Oracle::all_lists() const {
  Lists all;
  for (const auto& [key, query] : queries_) {
    if (query.anchor.kind != AnchorKind::every_object) {
      all[{key.stream, key.id, std::nullopt}] =
          answer(query.k, query.anchor, query.filter, query.components);
      continue;
    }
    for (const Candidate& subject : snapshot_)
      if (tags_pass(query.subject, subject.tags))
        all[{key.stream, key.id, subject.id}] =
            nearest(subject.place, subject.id, query.k, query.filter);
  }
  return all;
}

bool Oracle::must_report(const ListKey& key, const List& now) const {
  const auto before = lists_.find(key);
  return before == lists_.end() || changed(streams_[key.stream].on, before->second, now);
}

std::vector<NeighborState> Oracle::states_of(const List& list) const {
  std::vector<NeighborState> states;
  for (const Neighbor& neighbor : list) {
    const Candidate* candidate = find_in_snapshot(neighbor.object);
    states.push_back({candidate->place.position, candidate->tags});
  }
  return states;
}

void Oracle::fail_tick(std::int64_t tau_us) {
  age_objects(tau_us);
  std::vector<QueryKey> leases_over;
  for (const auto& [key, query] : queries_)
    if (tau_us > query.lease_end_us) leases_over.push_back(key);
  for (const QueryKey& key : leases_over) drop_query(key);
}

OracleTick Oracle::tick(std::int64_t tau_us) {
  fail_tick(tau_us);  // a tick first does all that a failing tick does
  take_snapshot(tau_us);

  OracleTick result;
  result.objects = snapshot_.size();
  result.newest_time_us = newest_time_us_;
  // If a query was removed and put again, all its lists are reported like new lists. Each list that
  // it no longer has is reported as removed.
  std::set<QueryKey> put_again;
  for (const QueryKey& key : removed_) {
    if (queries_.contains(key)) {
      put_again.insert(key);
      continue;
    }
    std::erase_if(lists_, [&](const auto& entry) {
      return entry.first.stream == key.stream && entry.first.query == key.id;
    });
    if (ticked_.contains(key))
      result.reports[{key.stream, key.id, std::nullopt}].event = ListEvent::removed;
  }
  removed_.clear();
  ticked_.clear();
  for (const auto& [key, query] : queries_) ticked_.insert(key);

  Lists now = all_lists();
  for (const auto& [key, list] : lists_)
    if (!now.contains(key)) result.reports[key].event = ListEvent::removed;
  Votes votes;
  Means means;
  for (const auto& [key, list] : now) {
    const QueryDefinition& query = queries_.at({key.stream, key.query});
    if (query.vote) votes[key] = vote_of(list);
    if (query.regress != RegressionWeights::none) means[key] = mean_of(list, query.regress);
    const bool is_other_prediction = differ(votes, votes_, key) || differ(means, means_, key);
    const bool is_first = put_again.contains({key.stream, key.query});
    if (!is_first && !is_other_prediction && !must_report(key, list)) continue;
    const ReportWith& with = streams_[key.stream].with;
    OracleReport report{ListEvent::updated, list, {}, std::nullopt, std::nullopt};
    if (votes.contains(key)) report.vote = votes[key];
    if (means.contains(key)) report.mean = means[key];
    if (with.position || with.tags) report.states = states_of(list);
    result.reports[key] = std::move(report);
  }
  lists_ = std::move(now);
  votes_ = std::move(votes);
  means_ = std::move(means);
  return result;
}

}  // namespace starling::test
