// SPDX-License-Identifier: Apache-2.0
// Oracle is a simple model of the whole contract: objects with the rules of event time, and
// standing queries. In each tick it sorts all objects for every list. It computes rank keys with
// 128-bit integers or with the scalar definition of vector scores. Then it finds what each stream
// must report. The oracle shares input structs with knn/, but no code. The conformance suites
// compare every engine with the oracle.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/tables/query_table.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::test {

struct OracleOptions {
  std::int64_t object_ttl_us = ObjectTableOptions::never_us;
  std::int64_t tombstone_ttl_us = 3'600'000'000;
  std::uint32_t dimension = 0;  ///< the dimension of a vector space; 0 in other spaces
  Metric metric = Metric::l2;
};

/// Identifies a list. An every-object query has one list for each subject. Any other query has one
/// list, and its key has no subject.
struct ListKey {
  std::uint32_t stream = 0;
  QueryId query{};
  std::optional<ObjectId> subject;
  auto operator<=>(const ListKey&) const = default;
};

using List = std::vector<Neighbor>;
using Lists = std::map<ListKey, List>;
using Votes = std::map<ListKey, Label>;
using Means = std::map<ListKey, double>;

struct OracleReport {
  ListEvent event = ListEvent::updated;
  List neighbors;
  std::vector<NeighborState> states;  ///< empty unless the stream reports position or tags
  std::optional<Label> vote;          ///< present if the query asks for a vote
  std::optional<double> mean;         ///< present if the query asks for a mean
};

struct OracleTick {
  std::uint64_t objects = 0;
  std::optional<std::int64_t> newest_time_us;  ///< the newest event time of an accepted position
  std::map<ListKey, OracleReport> reports;
};

class Oracle {
 public:
  explicit Oracle(const OracleOptions& options = {}) : options_(options) {}

  static constexpr std::int64_t no_time_limit = ObjectTableOptions::never_us;

  UpdateStatus update(const ObjectUpdate& row, std::int64_t time_us_max = no_time_limit);
  UpdateStatus update_vector(const VectorUpdate& row, const std::vector<float>& components,
                             std::int64_t time_us_max = no_time_limit);
  UpdateStatus update_tags(const TagUpdate& row, std::int64_t time_us_max = no_time_limit);
  UpdateStatus remove(const ObjectRemoval& row, std::int64_t time_us_max = no_time_limit);

  /// Returns the stream's number. Streams are numbered from 0, in the order in which they are first
  /// put.
  std::uint32_t put_stream(const StreamDefinition& definition);
  QueryStatus put_query(std::uint32_t stream, const QueryDefinition& definition);
  QueryStatus remove_query(std::uint32_t stream, QueryId id);

  OracleTick tick(std::int64_t tau_us);
  /// Runs a tick that fails: time passes for objects and leases, and nothing is reported.
  void fail_tick(std::int64_t tau_us);

  /// Returns all lists of the last tick, whether or not they were reported.
  const Lists& lists() const { return lists_; }
  const Votes& votes() const { return votes_; }
  const Means& means() const { return means_; }
  /// Returns the answer to a one-shot query about the last tick's snapshot. The anchor must not be
  /// `every_object`.
  List answer(std::uint32_t k, const Anchor& anchor, const Filter& filter,
              const std::vector<float>& components = {}) const;
  /// Returns whether the last tick's snapshot has the object.
  bool has(ObjectId id) const { return find_in_snapshot(id) != nullptr; }
  Label vote_of(const List& list) const;
  double mean_of(const List& list, RegressionWeights weights) const;
  std::vector<NeighborState> states_of(const List& list) const;

 private:
  /// A position on the lattice, or the components in a vector space.
  struct Place {
    LatticePoint position;
    std::vector<float> components;
  };
  struct Object {
    std::int64_t time_us = 0;
    bool alive = false;
    Place place;
    Label label = no_label;
    std::optional<double> value;
    std::uint32_t tags = 0;
    std::uint32_t tags_owned = 0;
    std::optional<std::int64_t> tags_time_us;
    std::optional<std::int64_t> left_at_tau_us;  ///< tau of the first tick after the object left
  };
  struct Candidate {
    ObjectId id{};
    Place place;
    Label label = no_label;
    std::optional<double> value;
    std::uint32_t tags = 0;
    std::int64_t time_us = 0;
  };
  struct QueryKey {
    std::uint32_t stream = 0;
    QueryId id{};
    auto operator<=>(const QueryKey&) const = default;
  };

  void age_objects(std::int64_t tau_us);
  void drop_query(QueryKey key);
  void take_snapshot(std::int64_t tau_us);
  Lists all_lists() const;
  List nearest(const Place& from, std::optional<ObjectId> excluded, std::uint32_t k,
               const Filter& filter) const;
  const Candidate* find_in_snapshot(ObjectId id) const;
  bool must_report(const ListKey& key, const List& now) const;

  OracleOptions options_;
  std::map<ObjectId, Object> objects_;
  std::optional<std::int64_t> newest_time_us_;
  std::vector<StreamDefinition> streams_;
  std::map<QueryKey, QueryDefinition> queries_;
  std::set<QueryKey> ticked_;      ///< queries of the last tick: their removals must be reported
  std::vector<QueryKey> removed_;  ///< queries removed since the last tick
  Lists lists_;
  Votes votes_;                      ///< one for each list whose query asks for a vote
  Means means_;                      ///< one for each list whose query asks for a mean
  std::vector<Candidate> snapshot_;  ///< sorted by id
  std::int64_t snapshot_tau_us_ = 0;
};

}  // namespace starling::test
