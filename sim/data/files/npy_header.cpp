// SPDX-License-Identifier: Apache-2.0
// The header is a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: see
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "starling/sim/data/files/npy_header.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "starling/knn/base/assert.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::size_t axes_max = 32;               // NumPy's limit
constexpr std::size_t written_header_bytes = 128;  // the format requires a multiple of 64

/// Throws InputError with the path in front of the sentence.
struct Refusal {
  const std::string& path;
  [[noreturn]] void operator()(const std::string& sentence) const {
    throw InputError(path + ": " + sentence);
  }
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

/// Parses the header's dictionary. Its keys may come in any order.
class Dictionary {
 public:
  Dictionary(std::string_view text, const Refusal& refuse) : rest_(text), refuse_(refuse) {}

  void read(NpyHeader& header) {
    expect('{');
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    while (!take('}')) {
      const std::string_view key = read_text();
      expect(':');
      if (key == "descr" && !has_descr) {
        header.type_name = read_type_name();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        header.is_fortran_order = read_truth();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = read_shape();
        has_shape = true;
      } else {
        damaged();
      }
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (!rest_.empty() || !has_descr || !has_order || !has_shape) damaged();
  }

 private:
  [[noreturn]] void damaged() const { refuse_("the .npy header is damaged"); }

  void skip_spaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool take(char wanted) {
    skip_spaces();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) damaged();
  }

  std::string_view read_text() {
    skip_spaces();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) damaged();
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) damaged();
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string read_type_name() {
    skip_spaces();
    if (rest_.starts_with('['))
      refuse_("the elements are records of several fields; save an array of plain numbers");
    return std::string(read_text());
  }

  bool read_truth() {
    skip_spaces();
    for (const bool value : {false, true}) {
      const std::string_view name = value ? "True" : "False";
      if (!rest_.starts_with(name)) continue;
      rest_.remove_prefix(name.size());
      return value;
    }
    damaged();
  }

  std::vector<std::uint64_t> read_shape() {
    std::vector<std::uint64_t> shape;
    expect('(');
    while (!take(')')) {
      shape.push_back(read_count());
      if (shape.size() > axes_max) damaged();
      if (take(',')) continue;
      expect(')');
      break;
    }
    return shape;
  }

  std::uint64_t read_count() {
    skip_spaces();
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), count);
    if (error != std::errc()) damaged();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2 wrote long integers as 123L
    return count;
  }

  std::string_view rest_;
  const Refusal& refuse_;
};

/// Returns the size of the array in bytes, or std::nullopt if the size exceeds uint64.
std::optional<std::uint64_t> array_bytes(const NpyHeader& header) {
  std::uint64_t bytes = header.type.bytes;
  if (std::ranges::find(header.shape, 0u) != header.shape.end()) return 0;
  for (const std::uint64_t length : header.shape) {
    if (bytes > std::numeric_limits<std::uint64_t>::max() / length) return std::nullopt;
    bytes *= length;
  }
  return bytes;
}

void check_size(const NpyHeader& header, std::size_t file_bytes, const Refusal& refuse) {
  const std::uint64_t bytes_there = file_bytes - header.size_bytes;
  const std::optional<std::uint64_t> bytes = array_bytes(header);
  if (!bytes || bytes_there < *bytes)
    refuse("the file is truncated: its header promises " +
           (bytes ? std::to_string(*bytes) : std::string("more than 2^64")) +
           " bytes of numbers, but " + std::to_string(bytes_there) + " follow");
  if (bytes_there > *bytes)
    refuse("the file has " + std::to_string(bytes_there - *bytes) +
           " bytes after its array; a file holds one array");
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "(";
  for (const std::uint64_t length : shape) text += std::to_string(length) + ", ";
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();
  return text + ")";
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& path) {
  const Refusal refuse{path};
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(npy_magic))
    refuse(text.empty() ? "the file is empty"
                        : "the file is not .npy: it does not begin with \\x93NUMPY");
  constexpr std::size_t version_end = npy_magic.size() + 2;
  if (text.size() < version_end) refuse("the file is truncated: it ends inside its header");
  const int version = static_cast<unsigned char>(text[npy_magic.size()]);
  if (version < 1 || version > 3)
    refuse("the file has .npy version " + std::to_string(version) + "; 1, 2 and 3 are read");
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (text.size() < version_end + length_bytes)
    refuse("the file is truncated: it ends inside its header");
  const std::uint64_t length = little_endian(text.substr(version_end, length_bytes));
  const std::size_t begin = version_end + length_bytes;
  if (text.size() - begin < length) refuse("the file is truncated: it ends inside its header");
  NpyHeader header;
  header.size_bytes = begin + length;
  Dictionary(text.substr(begin, length), refuse).read(header);
  const std::optional<NumberType> type = number_type_from_numpy(header.type_name);
  if (!type)
    refuse("the elements have NumPy's type " + quoted_text(header.type_name) +
           "; integers, float16, float32 and float64 are read. NumPy's astype converts other "
           "numbers; numpy.unique(labels, return_inverse=True) turns text labels into integers");
  header.type = *type;
  check_size(header, file.size(), refuse);
  return header;
}

std::string npy_header_text(std::string_view type_name, std::span<const std::uint64_t> shape) {
  constexpr std::size_t length = written_header_bytes - npy_magic.size() - 4;
  std::string text(npy_magic);
  text += {'\1', '\0', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  text += "{'descr': '" + std::string(type_name) +
          "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  check_invariant(text.size() < written_header_bytes, "the .npy header has room for the shape");
  text.resize(written_header_bytes - 1, ' ');
  return text + '\n';
}

}  // namespace starling::sim
