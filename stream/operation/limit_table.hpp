// SPDX-License-Identifier: Apache-2.0
// The table of a server's limits. Each entry holds a limit's name, its help text and its member of
// ServerOptions. `serve`, `info`, /metrics and refusals read the table. A row of metric_table()
// says how much of a limit is used. A test compares docs/limits.md with the table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "starling/protocol/wire/errors.hpp"
#include "starling/stream/operation/options.hpp"

namespace starling::stream {

/// What a limit applies to.
enum class LimitOf : std::uint8_t {
  request,
  session,
  connection,  ///< one connection to the commands endpoint; with keys, one principal
  subscriber,  ///< one subscriber's connection
  server,
};

std::string_view to_string(LimitOf of);

struct Limit {
  /// Gets and sets the limit's value in ServerOptions. `value_max` is the largest value that the
  /// member's type and at least one engine allow. If `set` is nullptr, the protocol fixes the
  /// value, and the limit has no flag.
  struct Field {
    std::uint64_t (*get)(const ServerOptions&) = nullptr;
    void (*set)(ServerOptions&, std::uint64_t) = nullptr;
    std::uint64_t value_max = 0;
  };

  std::string_view name;  ///< a name such as "queries-max"; its flag is --queries-max
  LimitOf of = LimitOf::server;
  std::string_view bounds;   ///< what is limited; the help text of the flag
  std::string_view reached;  ///< what happens when the limit is reached
  Field field;
  /// The reason of rows that the limit rejects; none: the limit rejects no rows.
  protocol::RowReason reason = protocol::RowReason::none;
  std::uint64_t value_min = 1;

  bool is_settable() const { return field.set != nullptr; }
  bool is_in_bytes() const { return name.find("bytes") != std::string_view::npos; }
};

std::span<const Limit> limit_table();

/// Returns the name and the value of the limit `name`, for an error message. The table must have a
/// limit of this name.
protocol::ReachedLimit reached(std::string_view name, const ServerOptions& options);
/// Returns the name and the value of the limit that rejects rows with `reason`. The name is empty
/// if no limit rejects rows with `reason`.
protocol::ReachedLimit reached(protocol::RowReason reason, const ServerOptions& options);

}  // namespace starling::stream
