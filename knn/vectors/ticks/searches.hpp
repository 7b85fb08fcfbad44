// Keeps the nearest of every list from tick to tick: what moved is scored against all lists, and
// only lists that this leaves in doubt are searched for among all objects. Exact, always
// (docs/decisions/0008-streaming-vectors.md). VectorEngine owns it.
//
// A tick costs lists x touched rows of scores, (lists whose own vector changed or that lost many) x
// all rows, and what is kept of each list is walked through once.
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
  /// They outlive it.
  VectorSearches(VectorStore& store, const VectorObjects& objects, const VectorQueries& queries)
      : store_(store), objects_(objects), queries_(queries) {}

  /// The next update searches for every list anew: rows were applied that none has seen.
  void forget_all() { kept_.clear(); }

  /// Brings every list of the plan up to date. `applied` is all that was touched since the last
  /// update; `matching` is with the plan of that update, none if it is the same. If it throws, call
  /// forget_all.
  void update(const VectorPlan& plan, const ListMatching* matching, const VectorRows& applied,
              std::int64_t tau_us);
  std::span<const KeptNearest::Entry> list(std::uint32_t search) const {
    return kept_[search].list();
  }

  /// Answers questions from what is applied, as of `tau_us`, all in one go.
  std::vector<KeptNearest> answer(std::span<const OneShotQuery> questions, std::int64_t tau_us);

 private:
  /// What a mask is made from: tags required and forbidden, and the oldest time.
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
  std::vector<KeptNearest> kept_;  ///< by search

  // Working memory:
  std::vector<Ask> near_;  ///< lists that the applied rows are scored for
  std::vector<Ask> scan_;  ///< lists that all rows are scored for
  std::vector<VectorQuery> asked_;
  std::map<MaskKey, std::uint32_t> mask_numbers_;
  std::vector<std::uint64_t> mask_words_;
  std::vector<VectorMatch> matches_;
  std::vector<VectorNeighbor> found_;
  std::vector<KeptNearest::Entry> entries_;
};

}  // namespace starling
