// SPDX-License-Identifier: Apache-2.0
// The run of `starling knn`: loads the points into a searcher, answers the queries and writes the
// lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "starling/apps/shared/engines.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::apps {

/// The flags, checked. A file name is empty if its flag was not given.
struct KnnPlan {
  std::string points;
  std::string queries;  ///< empty: find the k-NN graph, with every point as a query
  std::string labels;
  std::uint32_t k = 10;
  std::optional<double> radius;  ///< radius of the search, which replaces k; only with `out`
  Metric metric = Metric::l2;
  SearcherFlags searcher;
  std::string values;
  RegressionWeights regression = RegressionWeights::none;
  std::string out;  ///< the file of lists; of votes or values if one of the next two is set
  bool out_holds_votes = false;
  bool out_holds_values = false;
  std::string out_ids;
  std::string out_distances;
  std::string out_votes;
  std::string out_values;
};

/// Writes the results to the files of `plan`, and a summary to stderr. The files appear when all of
/// them are complete. Throws sim::UsageError if a flag is wrong, and another std::exception with a
/// sentence if the run fails.
void run_knn(const KnnPlan& plan);

}  // namespace starling::apps
