// SPDX-License-Identifier: Apache-2.0
// The neighbour lists of one tick in a vector space, their predictions, and the changes between two
// ticks. VectorEngine has the lists of the last tick and of the tick under way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "starling/knn/engine/list_directory.hpp"
#include "starling/knn/engine/tick_result.hpp"
#include "starling/knn/vectors/ticks/kept_nearest.hpp"
#include "starling/knn/vectors/ticks/objects.hpp"
#include "starling/knn/vectors/ticks/queries.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// The lists of a tick and their searches. VectorEngine keeps a plan until a query changes or a
/// list is added or removed.
struct VectorPlan : ListDirectory {
  struct Search {
    Slot query = no_slot;
    Slot anchor = no_slot;    ///< the followed object or the subject; it is not in the list
    std::uint64_t first = 0;  ///< the index of its first neighbour; the list has room for k
    ReportOn on = ReportOn::order;
  };
  std::vector<Search> searches;
  std::uint64_t room = 0;  ///< room of all lists together, in neighbours

  VectorPlan() = default;
  VectorPlan(const VectorQueries& standing, const VectorObjects& objects);
};

struct VectorLists {
  std::shared_ptr<const VectorPlan> plan = std::make_shared<VectorPlan>();
  std::vector<std::uint32_t> counts;  ///< [search]
  std::vector<Neighbor> neighbors;
  std::vector<Slot> slots;  ///< the slots of `neighbors`, in the same order
  /// [search]; empty if no query of the plan asks for a prediction.
  std::vector<Prediction> predictions;

  /// The spans of TickResult refer to these three arrays.
  std::vector<ReportedList> reported;
  std::vector<NeighborState> states;
  std::vector<Prediction> reported_predictions;

  /// Takes `next` as the plan and makes room for all its lists.
  void lay_out(std::shared_ptr<const VectorPlan> next);
  void write(std::uint32_t search, std::span<const KeptNearest::Entry> list);
  /// Makes the predictions of the lists whose queries ask for a vote or a mean.
  void predict(Metric metric, const VectorQueries& queries, const VectorObjects& objects);

  std::span<const Neighbor> of(std::uint32_t search) const {
    return std::span(neighbors).subspan(plan->searches[search].first, counts[search]);
  }
  std::span<const Slot> slots_of(std::uint32_t search) const {
    return std::span(slots).subspan(plan->searches[search].first, counts[search]);
  }
  Prediction prediction_of(std::uint32_t search) const {
    return predictions.empty() ? Prediction{} : predictions[search];
  }
};

/// A list and the data from which its prediction is made.
struct PredictionBasis {
  Metric metric = Metric::l2;
  std::span<const Neighbor> list;
  std::span<const Slot> slots;  ///< the slot of each entry of `list`, in the same order
  const VectorObjects& objects;
};

/// Returns the prediction of a list whose query asks for `vote` and `regress`.
Prediction predict(bool vote, RegressionWeights regress, const PredictionBasis& basis);

/// Compares the lists with those of the last tick and collects the reports for their streams.
/// `matching` is nullptr if both ticks have the same plan. `result` refers to the memory of `now`,
/// without a copy, and becomes an owner of `now`.
void collect_changes(const VectorLists& last, const std::shared_ptr<VectorLists>& now,
                     const ListMatching* matching, const VectorObjects& objects,
                     TickResult& result);

}  // namespace starling
