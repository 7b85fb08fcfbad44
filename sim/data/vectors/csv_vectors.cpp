// SPDX-License-Identifier: Apache-2.0
// Reads vectors from CSV. Each record is one row, and all rows have the same number of fields. A
// header is optional. open_csv_vectors() opens the file.
#include <span>
#include <vector>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/vectors/vector_formats.hpp"
#include "starling/sim/data/vectors/vector_text.hpp"

namespace starling::sim {
namespace {

class CsvVectors : public VectorFile {
 public:
  explicit CsvVectors(const std::string& path) : VectorFile(path), input_(path), records_(input_) {
    if (!records_.next(fields_)) throw InputError(path + ": the file has no rows");
    set_dimension(checked_dimension(
        fields_.size(),
        path + ":" + std::to_string(fields_.front().line) + ":1: the rows from here on hold"));
  }

  std::optional<std::uint32_t> row_count() const override { return std::nullopt; }

  VectorsView next(std::uint32_t rows_max) override {
    components_.clear();
    exact_.clear();
    places_.clear();
    for (std::uint32_t rows = 0; rows < rows_max && !fields_.empty(); ++rows) {
      rows_read_ = checked_rows(std::uint64_t{rows_read_} + 1, path());
      append_row();
      if (!records_.next(fields_)) fields_.clear();
    }
    return {components_, dimension()};
  }

  std::span<const double> exact_rows() const override { return exact_; }

  std::string place_of(VectorRow row, std::uint32_t column) const override {
    const Place& place = places_[std::size_t{row} * dimension() + column];
    return path() + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) +
           ": the component";
  }

 private:
  /// The place of a component. 32 bits suffice, because a record has at most 1 MiB and a file has
  /// fewer than 2^31 records.
  struct Place {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
  };

  void append_row() {
    check_field_count(path(), fields_, dimension());
    for (const Field& field : fields_) {
      const std::optional<Component> component = parse_component(field.text);
      if (!component) refuse_number(path(), field, "a number");
      components_.push_back(component->rounded);
      exact_.push_back(component->exact);
      places_.push_back(
          {static_cast<std::uint32_t>(field.line), static_cast<std::uint32_t>(field.column)});
    }
  }

  TextInput input_;
  NumberRecords records_;
  std::vector<Field> fields_;  ///< the next row; empty at the end
  std::vector<float> components_;
  std::vector<double> exact_;
  std::vector<Place> places_;
  std::uint32_t rows_read_ = 0;
};

}  // namespace

std::unique_ptr<VectorFile> open_csv_vectors(const std::string& path) {
  return std::make_unique<CsvVectors>(path);
}

}  // namespace starling::sim
