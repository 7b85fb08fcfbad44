// SPDX-License-Identifier: Apache-2.0
// Detects the format of a file by its first bytes, not by its name: see text_input.hpp.
#include "starling/sim/data/files/text_input.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t compressions_max = 4;
constexpr std::size_t mark_bytes = 16;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// A file format that is not text.
struct Kind {
  std::string_view mark;  ///< the first bytes
  std::string_view is;
  std::string_view advice;
};

constexpr std::array kinds{
    Kind{"PK\3\4"sv, "a ZIP archive or a spreadsheet", "unpack it, or save the sheet as CSV"},
    Kind{"PK\5\6"sv, "an empty ZIP archive", "look for the file that was to be in it"},
    Kind{"PAR1\x15"sv, "a Parquet file", "write it as CSV, for example with DuckDB or pandas"},
    Kind{"ARROW1\0\0"sv, "an Arrow file", "write it as CSV, for example with DuckDB or pandas"},
    Kind{"Obj\1"sv, "an Avro file", "write it as CSV"},
    Kind{"\xFD"
         "7zXZ"sv,
         "compressed with xz", "decompress it with xz -dk, or pipe xz -dc into this command"},
    Kind{"BZh91AY"sv, "compressed with bzip2",
         "decompress it with bzip2 -dk, or pipe bzip2 -dc into this command"},
    Kind{"\x04\x22\x4D\x18"sv, "compressed with LZ4", "decompress it with lz4 -d"},
    Kind{"\x1F\x9D"sv, "compressed with compress", "decompress it with uncompress"},
    Kind{"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive", "unpack it"},
    Kind{"Rar!\x1A"sv, "a RAR archive", "unpack it"},
    Kind{"\xD0\xCF\x11\xE0"sv, "an old Excel file", "save it as CSV"},
    Kind{"SQLite format 3"sv, "an SQLite database", "write the table with sqlite3 -csv -header"},
    Kind{"\x89HDF"sv, "an HDF5 or netCDF file", "write it as CSV"},
    Kind{"CDF\1"sv, "a netCDF file", "write it as CSV"},
    Kind{"CDF\2"sv, "a netCDF file", "write it as CSV"},
    Kind{"\x93NUMPY"sv, "a NumPy array", "write it as CSV"},
    Kind{"%PDF-"sv, "a PDF document", "find its table as CSV"},
    Kind{"\xFF\xFE\0\0"sv, "UTF-32 text", "save it as UTF-8"},
    Kind{"\0\0\xFE\xFF"sv, "UTF-32 text", "save it as UTF-8"},
};

void refuse_what_is_no_text(const std::string& path, std::string_view head) {
  const auto kind =
      std::ranges::find_if(kinds, [&](const Kind& each) { return head.starts_with(each.mark); });
  if (kind != kinds.end())
    throw NoTextError(path + ": is " + std::string(kind->is) + ", which is not read; " +
                      std::string(kind->advice));
}

/// Returns true if exactly the bytes at `first`, `first` + 2 and so on are 0.
bool has_zeros_from(std::size_t first, std::string_view head) {
  for (std::size_t at = 0; at < head.size(); ++at)
    if ((head[at] == 0) != (at % 2 == first)) return false;
  return true;
}

/// Returns the byte order if the text is UTF-16: it begins with a byte order mark, or every other
/// one of its first bytes is 0.
std::optional<Utf16Order> utf16_order(std::string_view head) {
  constexpr std::size_t bytes_min = 4;
  head = head.substr(0, mark_bytes);
  if (head.starts_with("\xFF\xFE")) return Utf16Order::little;
  if (head.starts_with("\xFE\xFF")) return Utf16Order::big;
  if (head.size() < bytes_min) return std::nullopt;
  if (has_zeros_from(1, head)) return Utf16Order::little;
  return has_zeros_from(0, head) ? std::optional(Utf16Order::big) : std::nullopt;
}

/// Returns true if `head` is too short to decide whether the file is plain UTF-8.
bool is_undecided(std::string_view head) {
  const auto agrees = [head](std::string_view mark) { return mark.starts_with(head); };
  const bool may_be_skippable_zstd = (static_cast<unsigned char>(head[0]) & 0xF0) == 0x50 &&
                                     "\x2A\x4D\x18"sv.starts_with(head.substr(1));
  return agrees("\x1F\x8B") || agrees("\x28\xB5\x2F\xFD") || may_be_skippable_zstd ||
         agrees("\xFF\xFE") || agrees("\xFE\xFF") || agrees(byte_order_mark) ||
         (head.size() > 1 && (has_zeros_from(0, head) || has_zeros_from(1, head))) ||
         std::ranges::any_of(kinds, [&](const Kind& kind) { return agrees(kind.mark); });
}

/// Returns as many of the first bytes as decide the format, and not more, because a pipe may be
/// slow.
std::string_view head_of(LookAhead& source) {
  std::string_view head = source.head(1);
  for (std::size_t bytes = 1; bytes <= head.size() && bytes < mark_bytes; ++bytes) {
    if (!is_undecided(head.substr(0, bytes))) break;
    head = source.head(bytes + 1);
  }
  return head;
}

}  // namespace

TextInput::TextInput(const std::string& path) : TextInput(shown_path(path), open_file(path)) {}

TextInput::TextInput(const std::string& path, std::unique_ptr<ByteSource> source)
    : path_(path), source_(std::make_unique<LookAhead>(std::move(source))) {
  decompress();
  refuse_what_is_no_text(path_, head_of(*source_));
  decode();
}

TextInput::TextInput(const std::string& path, std::string_view text)
    : path_(path),
      source_(std::make_unique<LookAhead>(make_memory_source(
          text.substr(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0)))) {}

void TextInput::decompress() {
  for (;;) {
    const std::string_view head = head_of(*source_);
    const bool is_gzip = begins_gzip(head);
    if (!is_gzip && !begins_zstd(head)) return;
    if (undone_.size() == compressions_max)
      throw InputError(path_ + ": is compressed more than " + std::to_string(compressions_max) +
                       " times; decompress it");
    source_ = std::make_unique<LookAhead>(is_gzip ? make_gzip_source(path_, std::move(source_))
                                                  : make_zstd_source(path_, std::move(source_)));
    undone_.push_back(is_gzip ? "gzip" : "Zstandard");
  }
}

void TextInput::decode() {
  if (const auto order = utf16_order(head_of(*source_))) {
    source_ = std::make_unique<LookAhead>(make_utf16_source(path_, std::move(source_), *order));
    undone_.push_back("UTF-16");
  }
  if (!head_of(*source_).starts_with(byte_order_mark)) return;
  std::array<char, byte_order_mark.size()> mark{};
  source_->read(mark);
}

}  // namespace starling::sim
