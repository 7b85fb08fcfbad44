// SPDX-License-Identifier: Apache-2.0
// Defines one reading function per format: see label_file.hpp.
#include "starling/sim/data/vectors/label_file.hpp"

#include <charconv>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/mapped_file.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/vectors/column_file.hpp"
#include "starling/sim/data/vectors/vector_text.hpp"

namespace starling::sim {
namespace {

constexpr ColumnWords words{"labels", "integer"};
constexpr std::size_t ivecs_row_bytes = 8;

/// Refuses `no_label`, because this value marks a missing label.
Label checked_label(std::optional<std::int64_t> number, const std::string& place) {
  if (!number || *number == no_label)
    throw InputError(place + " is not a label: labels range from -2^63 + 1 to 2^63 - 1");
  return *number;
}

std::vector<Label> read_npy(const std::string& path) {
  std::vector<Label> labels;
  NumberType type;
  const auto begin = [&](const NpyHeader& header, std::size_t rows) {
    if (!header.type.is_integer())
      throw InputError(path + ": the elements have NumPy's type " + quoted_text(header.type_name) +
                       "; labels are integers, so convert the array with astype('int64')");
    type = header.type;
    labels.resize(rows);
  };
  read_npy_column(path, words, begin, [&](std::size_t row, const std::byte* at) {
    labels[row] = checked_label(read_integer(type, at), place_of_row(path, row));
  });
  return labels;
}

std::vector<Label> read_ivecs(const std::string& path) {
  const MappedFile file(path);
  const NumberType int32 = number_type_of(ArrayFormat::ivecs);
  if (file.bytes().size() % ivecs_row_bytes != 0)
    throw InputError(path +
                     ": the file is truncated or has more than one integer per row: a "
                     "label takes " +
                     std::to_string(ivecs_row_bytes) + " bytes");
  std::vector<Label> labels(checked_rows(file.bytes().size() / ivecs_row_bytes, path));
  const std::byte* at = file.bytes().data();
  for (std::size_t row = 0; row < labels.size(); ++row, at += ivecs_row_bytes) {
    const std::int64_t count = *read_integer(int32, at);
    if (count != 1)
      throw InputError(place_of_row(path, row) + " has " + std::to_string(count) +
                       " integers; labels are one integer per row");
    labels[row] = *read_integer(int32, at + ivecs_row_bytes / 2);
  }
  return labels;
}

Label parse_label(const std::string& path, const Field& field) {
  const std::string_view text = without_plus(trim(field.text));
  Label label = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
  const bool is_whole = end == text.data() + text.size();
  if (error == std::errc::result_out_of_range && is_whole)
    label = no_label;
  else if (error != std::errc() || !is_whole)
    refuse_number(path, field, "an integer");
  return checked_label(label, place_of_field(path, field));
}

std::vector<Label> read_csv(const std::string& path) {
  std::vector<Label> labels;
  read_csv_column(path, words,
                  [&](const Field& field) { labels.push_back(parse_label(path, field)); });
  return labels;
}

}  // namespace

std::vector<Label> read_labels(const std::string& path) {
  return read_labels(path, array_format_of(path));
}

std::vector<Label> read_labels(const std::string& path, ArrayFormat format) {
  switch (format) {
    case ArrayFormat::npy:
      return read_npy(path);
    case ArrayFormat::ivecs:
      return read_ivecs(path);
    case ArrayFormat::csv:
      return read_csv(path);
    case ArrayFormat::fvecs:
    case ArrayFormat::bvecs:
      break;
  }
  throw InputError(path + ": labels are read from .npy, .ivecs or .csv");
}

}  // namespace starling::sim
