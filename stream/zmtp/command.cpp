// SPDX-License-Identifier: Apache-2.0
// ZMTP 3.1 (RFC 37), sections Commands and Metadata: see command.hpp.
#include "starling/stream/zmtp/command.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace starling::stream::zmtp {

namespace {

constexpr std::size_t short_text_max = 255;
constexpr std::size_t value_size_bytes = 4;

bool is_same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

/// Removes a text from the beginning of `bytes`, and returns it. The first byte is its size.
std::optional<std::string_view> take_short_text(std::span<const std::byte>& bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto size = std::to_integer<std::size_t>(bytes[0]);
  if (size == 0 || size > bytes.size() - 1) return std::nullopt;
  const std::string_view text = as_text(bytes.subspan(1, size));
  bytes = bytes.subspan(1 + size);
  return text;
}

std::optional<std::string_view> take_value(std::span<const std::byte>& bytes) {
  if (bytes.size() < value_size_bytes) return std::nullopt;
  std::uint64_t size = 0;
  for (std::size_t at = 0; at < value_size_bytes; ++at)
    size = size << 8 | std::to_integer<std::uint64_t>(bytes[at]);
  if (size > bytes.size() - value_size_bytes) return std::nullopt;
  const std::string_view value = as_text(bytes.subspan(value_size_bytes, size));
  bytes = bytes.subspan(value_size_bytes + size);
  return value;
}

void append_short_text(std::vector<std::byte>& out, std::string_view text) {
  text = text.substr(0, short_text_max);
  out.push_back(static_cast<std::byte>(text.size()));
  const auto bytes = as_span(text);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::span<const std::byte> as_span(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<Command> parse_command(std::span<const std::byte> body) {
  const auto name = take_short_text(body);
  if (!name) return std::nullopt;
  return Command{*name, body};
}

std::vector<std::byte> command(std::string_view name, std::span<const std::byte> data) {
  std::vector<std::byte> body;
  body.reserve(1 + name.size() + data.size());
  append_short_text(body, name);
  body.insert(body.end(), data.begin(), data.end());
  return body;
}

std::vector<std::byte> error_command(std::string_view reason) {
  std::vector<std::byte> data;
  append_short_text(data, reason);
  return command("ERROR", data);
}

std::optional<std::string> socket_type_of(std::span<const std::byte> metadata) {
  std::optional<std::string> type;
  while (!metadata.empty()) {
    const auto name = take_short_text(metadata);
    const auto value = name ? take_value(metadata) : std::nullopt;
    if (!value) return std::nullopt;
    if (is_same_name(*name, "Socket-Type")) type = std::string(*value);
  }
  return type;
}

std::vector<std::byte> metadata_of(std::string_view socket_type) {
  std::vector<std::byte> out;
  append_short_text(out, "Socket-Type");
  out.insert(out.end(), value_size_bytes - 1, std::byte{0});
  append_short_text(out, socket_type);
  return out;
}

}  // namespace starling::stream::zmtp
