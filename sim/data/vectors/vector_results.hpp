// SPDX-License-Identifier: Apache-2.0
// Writes the results of `starling knn`: neighbours as CSV, ids and distances as arrays, the
// votes of the neighbours' labels, and the means of their values. Lists are written as they arrive.
// A file gets its name when it is closed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "starling/knn/vectors/regression.hpp"
#include "starling/knn/vectors/vote.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::sim {

class ListWriter {
 public:
  virtual ~ListWriter() = default;

  /// Appends the lists of the next queries. Each list takes k entries, as VectorSearcher writes
  /// them.
  virtual void write(std::span<const VectorNeighbor> lists) = 0;

  /// Writes everything that is still buffered. Afterwards close() only gives the file its name.
  virtual void finish() = 0;
  virtual void close() = 0;
};

/// Writes lists as text, which may differ in length.
class ListTextWriter : public ListWriter {
 public:
  /// Appends the list of the next query, nearest first.
  virtual void write_list(std::span<const VectorNeighbor> list) = 0;
};

struct ListShape {
  Metric metric = Metric::l2;
  std::uint32_t k = 1;
  std::optional<std::uint32_t> queries;  ///< number of queries; std::nullopt if not known yet
};

// The functions below throw UsageError if the ending of `path` names no format that they write.
// These functions and the writers' members throw std::runtime_error if the file cannot be written.

/// CSV with the header `query_id,rank,object_id,distance` and one line per neighbour. Ids are row
/// numbers from 0; ranks begin at 1.
std::unique_ptr<ListTextWriter> make_list_csv(const std::string& path, const ListShape& shape);

/// The neighbours' ids, as int64 in .npy or as int32 in .ivecs. A list of fewer than k entries is
/// filled up with -1.
std::unique_ptr<ListWriter> make_id_array(const std::string& path, const ListShape& shape);

/// The neighbours' distances, as float64 in .npy or as float32 in .fvecs. A list of fewer than k
/// entries is filled up with infinity.
std::unique_ptr<ListWriter> make_distance_array(const std::string& path, const ListShape& shape);

/// CSV with the header `query_id,label`. The label is empty if no neighbour votes. `labels` must
/// outlive the writer.
std::unique_ptr<ListTextWriter> make_vote_csv(const std::string& path, const ListShape& shape,
                                              std::span<const Label> labels);

/// As make_vote_csv() if `path` is "-" or ends in .csv, .csv.gz or .csv.zst. Otherwise the labels
/// are written as int64 to .npy, with no_label if no neighbour votes.
std::unique_ptr<ListWriter> make_vote_file(const std::string& path, const ListShape& shape,
                                           std::span<const Label> labels);

/// What a regression needs besides lists: one value for each row, and the weights of neighbours.
struct Regression {
  std::span<const double> values;
  RegressionWeights weights = RegressionWeights::uniform;
};

/// CSV with the header `query_id,value`. The value is empty if there is no neighbour. The values
/// must outlive the writer.
std::unique_ptr<ListTextWriter> make_value_csv(const std::string& path, const ListShape& shape,
                                               const Regression& regression);

/// As make_value_csv() if `path` is "-" or ends in .csv, .csv.gz or .csv.zst. Otherwise the values
/// are written as float64 to .npy, with NaN if there is no neighbour.
std::unique_ptr<ListWriter> make_value_file(const std::string& path, const ListShape& shape,
                                            const Regression& regression);

}  // namespace starling::sim
