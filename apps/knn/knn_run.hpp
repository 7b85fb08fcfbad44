// The batch that `starling knn` runs: points into a searcher, queries through it, lists out.
#pragma once

#include <cstdint>
#include <string>

#include "apps/shared/searcher_choice.hpp"
#include "knn/words/metric.hpp"

namespace starling::apps {

/// An empty name stands for what was not asked for.
struct KnnPlan {
  std::string points;
  std::string queries;  ///< empty: every point asks for the others, the k-NN graph
  std::string labels;
  std::uint32_t k = 10;
  Metric metric = Metric::l2;
  SearcherFlags searcher;
  std::string out;  ///< lists, or votes
  bool out_holds_votes = false;
  std::string out_ids;
  std::string out_distances;
  std::string out_votes;
};

/// Writes the results and says what was done on stderr. Files appear when all of them are whole.
/// Throws std::exception with a sentence, sim::UsageError where a flag is at fault.
void run_knn(const KnnPlan& plan);

}  // namespace starling::apps
