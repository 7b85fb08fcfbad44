// SPDX-License-Identifier: Apache-2.0
// Keeps the nearest objects of every list from tick to tick. Touched rows are scored for all lists.
// If a list is not certain afterwards, all objects are scored for it. The result is always exact
// (docs/decisions/0008-streaming-vectors.md). VectorEngine owns a VectorSearches.
//
// The cost of a tick: it scores every touched row for every list. If a list's own vector changed,
// or if the list lost too many entries, the tick scores all rows for this list. The tick also
// passes once over the entries of each list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "starling/knn/engine/answers.hpp"
#include "starling/knn/engine/list_directory.hpp"
#include "starling/knn/vectors/store.hpp"
#include "starling/knn/vectors/ticks/kept_nearest.hpp"
#include "starling/knn/vectors/ticks/lists.hpp"
#include "starling/knn/vectors/ticks/objects.hpp"
#include "starling/knn/vectors/ticks/queries.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

class VectorSearches {
 public:
  /// The arguments must outlive this object.
  VectorSearches(VectorStore& store, const VectorObjects& objects, const VectorQueries& queries)
      : store_(store), objects_(objects), queries_(queries) {}

  /// Forgets all lists, so that the next update searches all of them. Call if rows were applied
  /// without an update.
  void forget_all() { kept_.clear(); }

  /// Brings every list of the plan up to date. `applied` has all rows touched since the last
  /// update. `matching` matches `plan` with the plan of the last update; nullptr if both plans are
  /// the same. If update throws, call forget_all.
  void update(const VectorPlan& plan, const ListMatching* matching, const VectorRows& applied,
              std::int64_t tau_us);
  std::span<const KeptNearest::Entry> list(std::uint32_t search) const {
    return kept_[search].list();
  }

  /// Answers all one-shot queries together, from the rows applied so far. Ages are measured at
  /// `tau_us`.
  std::vector<KeptNearest> answer(std::span<const OneShotQuery> questions, std::int64_t tau_us);

 private:
  /// A mask is made from these values: tags required, tags forbidden, and the oldest event time.
  using MaskKey = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;

  struct Ask {
    KeptNearest* kept = nullptr;
    VectorQuery query;
    std::uint32_t room = 0;
    MaskKey key;
  };

  static MaskKey key_of(const Filter& filter, std::int64_t tau_us);
  static bool is_for_all(const MaskKey& key);
  bool passes(Slot slot, const MaskKey& key) const;
  Ask ask_for(const VectorPlan::Search& search, KeptNearest& kept, std::int64_t tau_us) const;
  void take_over(const VectorPlan& plan, const ListMatching* matching);
  void add_applied(const VectorRows& applied);
  void add_matches(std::span<const Ask> some, const VectorRows& applied);
  std::uint32_t mask_of_applied(const MaskKey& key, const VectorRows& applied);
  void scan();
  void scan_some(std::span<Ask> some);
  void settle_ties(const Ask& ask, float score);
  KeptNearest::Entry entry_of(const VectorNeighbor& row) const;

  VectorStore& store_;
  const VectorObjects& objects_;
  const VectorQueries& queries_;
  std::vector<KeptNearest> kept_;  ///< [search]

  // Working memory:
  std::vector<Ask> near_;  ///< lists for which only the applied rows are scored
  std::vector<Ask> scan_;  ///< lists for which all rows are scored
  std::vector<VectorQuery> asked_;
  std::map<MaskKey, std::uint32_t> mask_numbers_;
  std::vector<std::uint64_t> mask_words_;
  std::vector<VectorMatch> matches_;
  std::vector<VectorNeighbor> found_;
  std::vector<KeptNearest::Entry> entries_;
};

}  // namespace starling
