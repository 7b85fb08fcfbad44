// SPDX-License-Identifier: Apache-2.0
// Defines one reading function per format: see label_file.hpp.
#include "starling/sim/vectors/label_file.hpp"

#include <charconv>

#include "starling/sim/files/errors.hpp"
#include "starling/sim/files/mapped_file.hpp"
#include "starling/sim/files/npy_header.hpp"
#include "starling/sim/files/number_text.hpp"
#include "starling/sim/files/quoted_text.hpp"
#include "starling/sim/vectors/vector_text.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t ivecs_row_bytes = 8;

/// Refuses `no_label`, because this value marks a missing label.
Label checked_label(std::optional<std::int64_t> number, const std::string& place) {
  if (!number || *number == no_label)
    throw InputError(place + " is not a label: labels range from -2^63 + 1 to 2^63 - 1");
  return *number;
}

std::string place_of(const std::string& path, std::size_t row) {
  return path + ": row " + std::to_string(row) + " (counted from 0)";
}

std::vector<Label> read_npy(const std::string& path) {
  const MappedFile file(path);
  const NpyHeader header = parse_npy_header(file.bytes(), path);
  const bool is_column =
      header.shape.size() == 1 || (header.shape.size() == 2 && header.shape[1] == 1);
  if (!is_column)
    throw InputError(path +
                     ": labels are an array of shape (rows,) or (rows, 1), one integer per row");
  if (!header.type.is_integer())
    throw InputError(path + ": the elements have NumPy's type " + quoted_text(header.type_name) +
                     "; labels are integers, so convert the array with astype('int64')");
  std::vector<Label> labels(checked_rows(header.shape[0], path));
  const std::byte* at = file.bytes().data() + header.size_bytes;
  for (std::size_t row = 0; row < labels.size(); ++row, at += header.type.bytes)
    labels[row] = checked_label(read_integer(header.type, at), place_of(path, row));
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
      throw InputError(place_of(path, row) + " has " + std::to_string(count) +
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
  return checked_label(label, path + ":" + std::to_string(field.line) + ":" +
                                  std::to_string(field.column) + ": the number");
}

std::vector<Label> read_csv(const std::string& path) {
  TextInput input(path);
  NumberRecords records(input);
  std::vector<Field> fields;
  std::vector<Label> labels;
  while (records.next(fields)) {
    if (fields.size() > 1)
      throw InputError(path, fields[1].line, fields[1].column,
                       "a second column begins here; a file of labels has one column");
    labels.push_back(parse_label(path, fields.front()));
    checked_rows(labels.size(), path);
  }
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
