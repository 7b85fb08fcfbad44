// SPDX-License-Identifier: Apache-2.0
// Defines one small class per kind of result: see vector_results.hpp.
#include "starling/sim/data/vectors/vector_results.hpp"

#include <cmath>
#include <string_view>
#include <vector>

#include "starling/sim/data/files/array_writer.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/text_append.hpp"
#include "starling/sim/data/files/text_output.hpp"

namespace starling::sim {
namespace {

/// Writes lines of text. Derived classes append the lines of a list.
class CsvLists : public ListTextWriter {
 public:
  CsvLists(const std::string& path, const ListShape& shape, std::string_view header)
      : shape_(shape), output_(path, TextOutput::Appears::when_closed), buffer_(header) {}

  void write(std::span<const VectorNeighbor> lists) override {
    for (; !lists.empty(); lists = lists.subspan(shape_.k)) write_list(lists.first(shape_.k));
  }

  void write_list(std::span<const VectorNeighbor> list) override {
    append_list(buffer_, next_query_++, list);
    if (buffer_.size() >= buffer_bytes) hand_over();
  }

  void finish() override {
    hand_over();
    output_.finish();
  }

  void close() override {
    finish();
    output_.close();
  }

 protected:
  Metric metric() const { return shape_.metric; }
  virtual void append_list(std::string& text, std::uint64_t query,
                           std::span<const VectorNeighbor> list) = 0;

 private:
  static constexpr std::size_t buffer_bytes = 1 << 20;

  void hand_over() {
    output_.write(buffer_);
    buffer_.clear();
  }

  ListShape shape_;
  TextOutput output_;
  std::string buffer_;
  std::uint64_t next_query_ = 0;
};

class NeighborCsv : public CsvLists {
 public:
  NeighborCsv(const std::string& path, const ListShape& shape)
      : CsvLists(path, shape, "query_id,rank,object_id,distance\n") {}

 protected:
  void append_list(std::string& text, std::uint64_t query,
                   std::span<const VectorNeighbor> list) override {
    std::uint32_t rank = 0;
    for (const VectorNeighbor& neighbor : list) {
      if (neighbor.row == no_row) return;
      append_number(text, query);
      text += ',';
      append_number(text, ++rank);
      text += ',';
      append_number(text, neighbor.row);
      text += ',';
      append_number(text, distance_of(metric(), neighbor.score));
      text += '\n';
    }
  }
};

class VoteCsv : public CsvLists {
 public:
  VoteCsv(const std::string& path, const ListShape& shape, std::span<const Label> labels)
      : CsvLists(path, shape, "query_id,label\n"), labels_(labels) {}

 protected:
  void append_list(std::string& text, std::uint64_t query,
                   std::span<const VectorNeighbor> list) override {
    append_number(text, query);
    text += ',';
    if (const Label label = vote(metric(), list, labels_); label != no_label)
      append_number(text, label);
    text += '\n';
  }

 private:
  std::span<const Label> labels_;
};

class ValueCsv : public CsvLists {
 public:
  ValueCsv(const std::string& path, const ListShape& shape, const Regression& regression)
      : CsvLists(path, shape, "query_id,value\n"), regression_(regression) {}

 protected:
  void append_list(std::string& text, std::uint64_t query,
                   std::span<const VectorNeighbor> list) override {
    append_number(text, query);
    text += ',';
    const double value = regress(metric(), list, regression_.values, regression_.weights);
    if (!std::isnan(value)) append_number(text, value);
    text += '\n';
  }

 private:
  Regression regression_;
};

/// Writes an array with `columns` numbers per query, or a one-dimensional array with one number per
/// query if `columns` is std::nullopt.
template <class Number>
class ArrayLists : public ListWriter {
 public:
  ArrayLists(const std::string& path, const ListShape& shape, std::optional<std::uint32_t> columns)
      : shape_(shape), writer_(path, {shape.queries, columns}) {}

  void write(std::span<const VectorNeighbor> lists) override {
    numbers_.clear();
    append(numbers_, lists);
    writer_.write(numbers_);
  }
  void finish() override { writer_.finish(); }
  void close() override { writer_.close(); }

 protected:
  const ListShape& shape() const { return shape_; }
  virtual void append(std::vector<Number>& numbers, std::span<const VectorNeighbor> lists) = 0;

 private:
  ListShape shape_;
  ArrayWriter<Number> writer_;
  std::vector<Number> numbers_;
};

class IdArray : public ArrayLists<std::int64_t> {
 public:
  IdArray(const std::string& path, const ListShape& shape) : ArrayLists(path, shape, shape.k) {}

 protected:
  void append(std::vector<std::int64_t>& ids, std::span<const VectorNeighbor> lists) override {
    for (const VectorNeighbor& neighbor : lists)
      ids.push_back(neighbor.row == no_row ? -1 : std::int64_t{neighbor.row});
  }
};

class DistanceArray : public ArrayLists<double> {
 public:
  DistanceArray(const std::string& path, const ListShape& shape)
      : ArrayLists(path, shape, shape.k) {}

 protected:
  void append(std::vector<double>& distances, std::span<const VectorNeighbor> lists) override {
    for (const VectorNeighbor& neighbor : lists)
      distances.push_back(distance_of(shape().metric, neighbor.score));
  }
};

class VoteArray : public ArrayLists<std::int64_t> {
 public:
  VoteArray(const std::string& path, const ListShape& shape, std::span<const Label> labels)
      : ArrayLists(path, shape, std::nullopt), labels_(labels) {}

 protected:
  void append(std::vector<std::int64_t>& votes, std::span<const VectorNeighbor> lists) override {
    for (; !lists.empty(); lists = lists.subspan(shape().k))
      votes.push_back(vote(shape().metric, lists.first(shape().k), labels_));
  }

 private:
  std::span<const Label> labels_;
};

class ValueArray : public ArrayLists<double> {
 public:
  ValueArray(const std::string& path, const ListShape& shape, const Regression& regression)
      : ArrayLists(path, shape, std::nullopt), regression_(regression) {}

 protected:
  void append(std::vector<double>& values, std::span<const VectorNeighbor> lists) override {
    for (; !lists.empty(); lists = lists.subspan(shape().k))
      values.push_back(
          regress(shape().metric, lists.first(shape().k), regression_.values, regression_.weights));
  }

 private:
  Regression regression_;
};

/// Returns true if the file is text, and false if it is an array. Throws UsageError if it is
/// neither.
bool is_csv(const std::string& path) {
  for (const std::string_view ending : {".csv", ".csv.gz", ".csv.zst"})
    if (path == "-" || path.ends_with(ending)) return true;
  if (!path.ends_with(".npy"))
    throw UsageError(path + ": the file's ending names no known format; .npy and .csv are written");
  return false;
}

}  // namespace

std::unique_ptr<ListTextWriter> make_list_csv(const std::string& path, const ListShape& shape) {
  return std::make_unique<NeighborCsv>(path, shape);
}

std::unique_ptr<ListWriter> make_id_array(const std::string& path, const ListShape& shape) {
  return std::make_unique<IdArray>(path, shape);
}

std::unique_ptr<ListWriter> make_distance_array(const std::string& path, const ListShape& shape) {
  return std::make_unique<DistanceArray>(path, shape);
}

std::unique_ptr<ListTextWriter> make_vote_csv(const std::string& path, const ListShape& shape,
                                              std::span<const Label> labels) {
  return std::make_unique<VoteCsv>(path, shape, labels);
}

std::unique_ptr<ListWriter> make_vote_file(const std::string& path, const ListShape& shape,
                                           std::span<const Label> labels) {
  if (is_csv(path)) return make_vote_csv(path, shape, labels);
  return std::make_unique<VoteArray>(path, shape, labels);
}

std::unique_ptr<ListTextWriter> make_value_csv(const std::string& path, const ListShape& shape,
                                               const Regression& regression) {
  return std::make_unique<ValueCsv>(path, shape, regression);
}

std::unique_ptr<ListWriter> make_value_file(const std::string& path, const ListShape& shape,
                                            const Regression& regression) {
  if (is_csv(path)) return make_value_csv(path, shape, regression);
  return std::make_unique<ValueArray>(path, shape, regression);
}

}  // namespace starling::sim
