// Measures searches of one shape after the other by any VectorSearcher, and checks what it finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "starling/bench/vectors/paper_tables.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::bench {

/// Of runs from which a median is worth the name.
inline constexpr int knn_runs_enough = 20;

/// Medians over the runs.
struct KnnTime {
  double device_ms = 0;  ///< by the device's clock, see VectorSearcher; 0 where there is none
  double host_ms = 0;    ///< by the host's, from queries to lists in its memory
  int runs = 0;

  double ms() const { return device_ms > 0 ? device_ms : host_ms; }
};

/// The least that a search of direct sums can take: its bytes read or written once, its steps done.
struct KnnFloor {
  double bytes_ms = 0;
  double steps_ms = 0;

  double ms() const { return bytes_ms > steps_ms ? bytes_ms : steps_ms; }
};
KnnFloor floor_of(const KnnShape& shape, const DeviceRates& rates);

class KnnBench {
 public:
  /// `runs` of each measurement; 0: 20, and 3 where one takes more than a second.
  KnnBench(VectorSearcher& searcher, std::uint64_t seed, int runs)
      : searcher_(searcher), seed_(seed), runs_(runs) {}

  /// Makes the searcher's corpus and queries. What the last shape had and this one needs, stays.
  void set_shape(const KnnShape& shape);

  /// Nothing where the searcher does not support the method. Throws std::runtime_error with a
  /// sentence if a list is wrong.
  std::optional<KnnTime> measure(SearchMethod method);

 private:
  struct ExactList {
    std::uint32_t query = 0;  ///< of the first set
    std::vector<VectorNeighbor> list;
  };

  double run(SearchMethod method, std::size_t set);
  void make_exact_lists();
  void check_lists(SearchMethod method) const;

  VectorSearcher& searcher_;
  std::uint64_t seed_;
  int runs_;
  KnnShape shape_;
  std::vector<float> corpus_;
  std::vector<std::vector<float>> sets_;  ///< of queries
  std::vector<ExactList> exact_lists_;
  std::vector<VectorNeighbor> lists_;  ///< of the last run
};

}  // namespace starling::bench
