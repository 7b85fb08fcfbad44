// SPDX-License-Identifier: Apache-2.0
// Writes each number's bytes in memory order, because the machine and all these formats are
// little-endian. See array_writer.hpp.
#include "starling/sim/data/files/array_writer.hpp"

#include <bit>
#include <type_traits>
#include <vector>

#include "starling/knn/base/assert.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/npy_header.hpp"

namespace starling::sim {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class Number>
constexpr bool is_integer = std::is_same_v<Number, std::int64_t>;

template <class Number>
constexpr std::string_view npy_type = is_integer<Number> ? "<i8" : "<f8";

template <class Number>
constexpr std::string_view vecs_ending = is_integer<Number> ? ".ivecs" : ".fvecs";

template <class Number>
using VecsNumber = std::conditional_t<is_integer<Number>, std::int32_t, float>;

template <class Value>
void append_bytes(std::string& buffer, const Value* values, std::size_t count) {
  buffer.append(reinterpret_cast<const char*>(values), count * sizeof(Value));
}

template <class Number>
bool tells_npy(const std::string& path, const ArrayShape& shape) {
  if (path.ends_with(".npy")) return true;
  if (shape.columns && path.ends_with(vecs_ending<Number>)) return false;
  throw UsageError(path + ": the file's ending names no known format; .npy" +
                   (shape.columns ? " and " + std::string(vecs_ending<Number>) + " are" : " is") +
                   " written");
}

}  // namespace

template <class Number>
ArrayWriter<Number>::ArrayWriter(const std::string& path, const ArrayShape& shape)
    : is_npy_(tells_npy<Number>(path, shape)),
      shape_(shape),
      output_(path, TextOutput::Appears::when_closed) {
  if (is_npy_) output_.write(npy_header());
}

template <class Number>
void ArrayWriter<Number>::write(std::span<const Number> numbers) {
  const std::size_t columns = shape_.columns.value_or(1);
  check_invariant(numbers.size() % columns == 0, "an array is written in whole rows");
  rows_written_ += numbers.size() / columns;
  buffer_.clear();
  if (is_npy_) {
    append_bytes(buffer_, numbers.data(), numbers.size());
  } else {
    const auto dimension = static_cast<std::int32_t>(columns);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i % columns == 0) append_bytes(buffer_, &dimension, 1);
      const auto number = static_cast<VecsNumber<Number>>(numbers[i]);
      append_bytes(buffer_, &number, 1);
    }
  }
  output_.write(buffer_);
}

template <class Number>
void ArrayWriter<Number>::finish() {
  if (is_npy_ && !shape_.rows) {
    shape_.rows = rows_written_;
    output_.rewrite_start(npy_header());
  }
  output_.finish();
}

template <class Number>
std::string ArrayWriter<Number>::npy_header() const {
  std::vector<std::uint64_t> lengths{shape_.rows.value_or(0)};
  if (shape_.columns) lengths.push_back(*shape_.columns);
  return npy_header_text(npy_type<Number>, lengths);
}

template class ArrayWriter<std::int64_t>;
template class ArrayWriter<double>;

}  // namespace starling::sim
