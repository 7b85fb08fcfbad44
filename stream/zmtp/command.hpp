// SPDX-License-Identifier: Apache-2.0
// ZMTP commands: a name of at most 255 bytes, and data. The commands of the handshake carry
// metadata: pairs of a name and a value. Session and CurveHandshake read and write them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace starling::stream::zmtp {

struct Command {
  std::string_view name;
  std::span<const std::byte> data;
};

/// Parses the body of a frame. Returns std::nullopt if it is not a command.
std::optional<Command> parse_command(std::span<const std::byte> body);

/// Returns the body of a command.
std::vector<std::byte> command(std::string_view name, std::span<const std::byte> data);
/// Returns the body of the command ERROR. At most 255 bytes of the reason are sent.
std::vector<std::byte> error_command(std::string_view reason);

/// Returns the value of Socket-Type. Returns std::nullopt if the metadata is malformed or has no
/// Socket-Type. Other properties are skipped, even Identity: a peer cannot choose its own name.
std::optional<std::string> socket_type_of(std::span<const std::byte> metadata);

/// Returns metadata that has only the property Socket-Type.
std::vector<std::byte> metadata_of(std::string_view socket_type);

std::span<const std::byte> as_span(std::string_view text);
std::string_view as_text(std::span<const std::byte> bytes);

}  // namespace starling::stream::zmtp
