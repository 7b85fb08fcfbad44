// Every limit of a server, once: its flag and help text, what it bounds, where its value stands,
// its current use. `serve`, `info`, /metrics and the words of refusals all read this table; a test
// holds docs/limits.md against it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "starling/protocol/wire/errors.hpp"
#include "starling/stream/metrics.hpp"
#include "starling/stream/options.hpp"

namespace starling::stream {

enum class LimitOf : std::uint8_t {
  request,     ///< one request
  session,     ///< one session
  subscriber,  ///< one subscriber's connection
  server,      ///< all together
};

std::string_view to_string(LimitOf of);

struct Limit {
  /// Where the value stands, and the largest that any engine and type allow. Without `set` the
  /// protocol fixes it, and it is no flag.
  struct Field {
    std::uint64_t (*get)(const ServerOptions&) = nullptr;
    void (*set)(ServerOptions&, std::uint64_t) = nullptr;
    std::uint64_t value_max = 0;
  };

  std::string_view name;  ///< "queries-max": its flag is --queries-max
  LimitOf of = LimitOf::server;
  std::string_view bounds;   ///< help text of the flag
  std::string_view reached;  ///< what happens then
  Field field;
  double Gauges::*used = nullptr;  ///< none: what it bounds is gone with the request
  protocol::RowReason reason = protocol::RowReason::none;  ///< of rows rejected for it
  std::uint64_t value_min = 1;

  bool is_settable() const { return field.set != nullptr; }
  bool is_in_bytes() const { return name.find("bytes") != std::string_view::npos; }
};

std::span<const Limit> limit_table();

/// What a refusal says of the limit of that name, which must be in the table.
protocol::ReachedLimit reached(std::string_view name, const ServerOptions& options);
/// The same for rows; no name where the reason is no limit.
protocol::ReachedLimit reached(protocol::RowReason reason, const ServerOptions& options);

}  // namespace starling::stream
