// SPDX-License-Identifier: Apache-2.0
// Writes and reads the sections of a snapshot: see state_codec.hpp. All numbers are little endian,
// and a text or an array follows its length.
#include "starling/stream/recovery/state_codec.hpp"

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "starling/log/snapshot.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/recovery/state_fields.hpp"

namespace starling::stream {
namespace {

/// The section of the numbers that are in no array.
constexpr std::uint16_t head_section = 30;
/// A record is full when it has this many bytes.
constexpr std::size_t record_bytes_enough = std::size_t{1} << 20;

class StateWriter {
 public:
  explicit StateWriter(RecordBytes& out) : out_(out) {}

  template <class... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }

 private:
  template <class Number>
  requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) void put(const Number& number) {
    put_bytes(&number, sizeof(number));
  }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(text.data(), text.size());
  }
  template <class Value>
  void put(const std::optional<Value>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class Item>
  void put(const std::vector<Item>& items) {
    put(static_cast<std::uint32_t>(items.size()));
    for (const Item& item : items) fields(*this, item);
  }
  void put(const SequencedReply& reply) {
    const protocol::Frame frame = frame_of(reply);
    put(static_cast<std::uint32_t>(frame.size()));
    put_bytes(frame.bytes().data(), frame.size());
  }
  void put_bytes(const void* data, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), begin, begin + bytes);
  }

  RecordBytes& out_;
};

class StateReader {
 public:
  StateReader(std::uint64_t sequence, std::span<const std::byte> bytes)
      : sequence_(sequence), rest_(bytes) {}

  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  bool is_at_end() const { return rest_.empty(); }
  [[noreturn]] void refuse() const {
    throw UnknownRecord("record " + std::to_string(sequence_) +
                        " of the snapshot is whole, but this program cannot read it; start the "
                        "program that wrote it, or a later one");
  }

 private:
  template <class Number>
  requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) void get(Number& number) {
    const auto bytes = take(sizeof(number));
    if constexpr (std::is_same_v<Number, bool>)
      number = bytes[0] != std::byte{0};
    else
      std::memcpy(&number, bytes.data(), sizeof(number));
  }
  void get(std::string& text) {
    const auto bytes = take(count());
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  template <class Value>
  void get(std::optional<Value>& value) {
    bool has_value = false;
    get(has_value);
    if (!has_value) return value.reset();
    if constexpr (std::is_same_v<Value, SequencedReply>)
      value = get_reply();
    else
      get(value.emplace());
  }
  template <class Item>
  void get(std::vector<Item>& items) {
    for (std::uint32_t left = count(); left > 0; --left) fields(*this, items.emplace_back());
  }
  void get(SequencedReply& reply) { reply = get_reply(); }
  SequencedReply get_reply() {
    auto reply = reply_in(take(count()));
    if (!reply) refuse();
    return std::move(*reply);
  }
  std::uint32_t count() {
    std::uint32_t count = 0;
    get(count);
    return count;
  }
  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > rest_.size()) refuse();
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }

  std::uint64_t sequence_;
  std::span<const std::byte> rest_;
};

}  // namespace

void encode_state(const LoggedState& state, const StateRecordHandler& handler) {
  RecordBytes bytes;
  StateWriter writer(bytes);
  fields(writer, state);
  handler(log::RecordType{head_section}, bytes);
  for_each_section(state, [&](std::uint16_t section, const auto& items) {
    bytes.clear();
    for (const auto& item : items) {
      fields(writer, item);
      if (bytes.size() < record_bytes_enough) continue;
      handler(log::RecordType{section}, bytes);
      bytes.clear();
    }
    if (!bytes.empty()) handler(log::RecordType{section}, bytes);
  });
}

void decode_state(const log::Record& record, LoggedState& state) {
  StateReader reader(record.sequence, record.payload);
  if (record.version > state_version) reader.refuse();
  if (record.type == log::RecordType{head_section}) {
    fields(reader, state);
    if (!reader.is_at_end()) reader.refuse();
    return;
  }
  bool is_known = false;
  for_each_section(state, [&](std::uint16_t section, auto& items) {
    if (record.type != log::RecordType{section}) return;
    is_known = true;
    while (!reader.is_at_end()) fields(reader, items.emplace_back());
  });
  if (!is_known) reader.refuse();
}

}  // namespace starling::stream
