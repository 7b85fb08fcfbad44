// SPDX-License-Identifier: Apache-2.0
// Names segments by their first record, and writes and checks their headers: see segment.hpp.
#include "starling/log/segment.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "starling/knn/base/assert.hpp"

namespace starling::log {
namespace {

constexpr std::size_t name_digits = 20;
constexpr std::string_view segment_end = ".log";
constexpr std::string_view snapshot_end = ".snapshot";
constexpr std::array<char, 8> magic{'S', 'T', 'A', 'R', 'L', 'O', 'G', '\n'};

/// The front of a segment. The user's header follows, padded with zeros. Later versions of the
/// format must keep its first 16 bytes, its size and the offset of front_hash.
struct SegmentFront {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t user_bytes = 0;
  LogId id{};
  std::uint64_t number = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t first_group = 0;
  std::uint64_t chain = 0;
  std::int64_t created_us = 0;
  std::uint64_t user_hash = 0;
  std::uint64_t front_hash = 0;
};
static_assert(sizeof(SegmentFront) == 88 && std::is_trivially_copyable_v<SegmentFront> &&
              std::has_unique_object_representations_v<SegmentFront>);

std::uint64_t front_hash(const SegmentFront& front) {
  return hash_bytes(std::as_bytes(std::span(&front, 1)).first(offsetof(SegmentFront, front_hash)),
                    0);
}

SegmentFront read_front(const File& file, const std::string& name) {
  SegmentFront front;
  if (file.read(0, std::as_writable_bytes(std::span(&front, 1))) < sizeof(front))
    throw DamagedLog(name, 0, "the file is too short for a segment's header");
  if (front.magic != magic) throw DamagedLog(name, 0, "the file does not begin as a segment does");
  if (front.front_hash != front_hash(front))
    throw DamagedLog(name, 0, "the segment's header does not have its hash");
  if (front.version > format_version)
    throw LogFromTheFuture(name + " has version " + std::to_string(front.version) +
                           " of the log's format; this program reads up to version " +
                           std::to_string(format_version) + ". Use a later version of Starling");
  return front;
}

std::string name_of(std::uint64_t sequence, std::string_view end) {
  const std::string digits = std::to_string(sequence);
  return std::string(name_digits - digits.size(), '0').append(digits).append(end);
}

std::optional<std::uint64_t> number_of(std::string_view name, std::string_view end) {
  if (name.size() != name_digits + end.size() || !name.ends_with(end)) return {};
  std::uint64_t sequence = 0;
  const char* const digits_end = name.data() + name_digits;
  const auto [stop, error] = std::from_chars(name.data(), digits_end, sequence);
  if (error != std::errc{} || stop != digits_end) return {};
  return sequence;
}

}  // namespace

DamagedLog::DamagedLog(std::string file, std::uint64_t offset, const std::string& what)
    : std::runtime_error("the log is damaged in " + file + " at byte " + std::to_string(offset) +
                         ": " + what + ". Nothing was changed; restore the file from a copy"),
      file_(std::move(file)),
      offset_(offset) {}

std::string segment_name(std::uint64_t first_sequence) {
  return name_of(first_sequence, segment_end);
}

std::optional<std::uint64_t> sequence_of_name(std::string_view name) {
  return number_of(name, segment_end);
}

std::string snapshot_name(std::uint64_t next_sequence) {
  return name_of(next_sequence, snapshot_end);
}

std::optional<std::uint64_t> sequence_of_snapshot_name(std::string_view name) {
  return number_of(name, snapshot_end);
}

std::vector<std::string> segment_names(const Files& files) {
  std::vector<std::string> names = files.list();
  std::erase_if(names, [](const std::string& name) { return !sequence_of_name(name); });
  return names;
}

std::uint64_t segment_header_bytes(const SegmentHeader& header) {
  return sizeof(SegmentFront) + padded_bytes(header.user.size());
}

std::vector<std::byte> encode_header(const SegmentHeader& header) {
  std::vector<std::byte> bytes(segment_header_bytes(header));
  const auto user = std::span(bytes).subspan(sizeof(SegmentFront));
  std::ranges::copy(header.user, user.begin());
  SegmentFront front{.magic = magic,
                     .version = format_version,
                     .user_bytes = static_cast<std::uint32_t>(header.user.size()),
                     .id = header.id,
                     .number = header.number,
                     .first_sequence = header.begin.next_sequence,
                     .first_group = header.begin.next_group,
                     .chain = header.begin.chain,
                     .created_us = header.created_us,
                     .user_hash = hash_bytes(user, seed_of(header.id))};
  front.front_hash = front_hash(front);
  std::memcpy(bytes.data(), &front, sizeof(front));
  return bytes;
}

std::unique_ptr<File> create_segment(Files& files, const SegmentHeader& header,
                                     std::uint64_t bytes) {
  check_invariant(header.user.size() <= user_header_bytes_max, "a log's user header is too long");
  const std::vector<std::byte> encoded = encode_header(header);
  auto file = files.create(unfinished_segment_name, std::max<std::uint64_t>(bytes, encoded.size()));
  file->write(0, encoded);
  file->sync();
  files.rename(unfinished_segment_name, segment_name(header.begin.next_sequence));
  files.sync_folder();
  return file;
}

SegmentHeader read_segment_header(const File& file, const std::string& name) {
  const SegmentFront front = read_front(file, name);
  if (front.version != format_version || front.user_bytes > user_header_bytes_max)
    throw DamagedLog(name, 0, "the segment's header has values that none has");
  SegmentHeader header{.id = front.id,
                       .number = front.number,
                       .begin = {front.first_sequence, front.first_group, front.chain},
                       .created_us = front.created_us,
                       .user = std::vector<std::byte>(padded_bytes(front.user_bytes))};
  if (file.read(sizeof(front), header.user) < header.user.size() ||
      hash_bytes(header.user, seed_of(front.id)) != front.user_hash)
    throw DamagedLog(name, sizeof(front), "the user's part of the header does not have its hash");
  header.user.resize(front.user_bytes);
  const std::string right_name =
      front.number == 0 ? snapshot_name(front.first_sequence) : segment_name(front.first_sequence);
  if (name != right_name)
    throw DamagedLog(name, 0, "the file holds " + right_name + ", so it has a wrong name");
  return header;
}

std::optional<SegmentHeader> newest_header(Files& files) {
  const auto names = segment_names(files);
  if (names.empty()) return std::nullopt;
  return read_segment_header(*files.open(names.back()), names.back());
}

}  // namespace starling::log
