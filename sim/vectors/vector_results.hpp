// Where the lists of `starling knn` go: neighbours as CSV, ids and distances as arrays, and what
// the neighbours' labels vote for. Lists are written as they come; a file appears when it is
// closed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "knn/vectors/vote.hpp"
#include "knn/words/metric.hpp"

namespace starling::sim {

class ListWriter {
 public:
  virtual ~ListWriter() = default;

  /// The lists of the next queries, each of k entries, as VectorSearcher writes them.
  virtual void write(std::span<const VectorNeighbor> lists) = 0;

  /// Writes what is left; close() then only lets the file appear.
  virtual void finish() = 0;
  virtual void close() = 0;
};

struct ListShape {
  Metric metric = Metric::l2;
  std::uint32_t k = 1;
  std::optional<std::uint32_t> queries;  ///< if known beforehand
};

/// These throw UsageError if the name's ending is none of the formats, and std::runtime_error, as
/// do the members, if the file cannot be written. `query_id,rank,object_id,distance`: rows counted
/// from 0, ranks from 1; a row a neighbour.
std::unique_ptr<ListWriter> make_list_csv(const std::string& path, const ListShape& shape);

/// .npy of int64 or .ivecs of int32, -1 behind short lists.
std::unique_ptr<ListWriter> make_id_array(const std::string& path, const ListShape& shape);

/// .npy of float64 or .fvecs of float32, infinity behind short lists.
std::unique_ptr<ListWriter> make_distance_array(const std::string& path, const ListShape& shape);

/// `query_id,label`, nothing for a label where nobody votes. The labels outlive the writer.
std::unique_ptr<ListWriter> make_vote_csv(const std::string& path, const ListShape& shape,
                                          std::span<const Label> labels);

/// .npy of int64, no_label where nobody votes, or as make_vote_csv if the name says so.
std::unique_ptr<ListWriter> make_vote_file(const std::string& path, const ListShape& shape,
                                           std::span<const Label> labels);

}  // namespace starling::sim
