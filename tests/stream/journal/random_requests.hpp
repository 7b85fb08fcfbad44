// SPDX-License-Identifier: Apache-2.0
// Random requests that change a small server: objects that come, move, expire and are removed,
// streams, leased queries, names and ticks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/operation/options.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

/// A request that owns its arrays. Requests that were drawn can be sent again later.
struct OwnedRequest {
  enum class Kind : std::uint8_t {
    objects,
    tags,
    removals,
    names,
    stream,
    stream_removal,
    queries,
    query_removals,
    tick,
  };

  Kind kind = Kind::tick;
  std::vector<std::uint64_t> ids{};
  std::vector<std::int64_t> times_us{};
  std::vector<double> places{};
  std::vector<std::uint32_t> tags{};
  std::vector<std::uint32_t> cleared{};
  std::vector<std::uint8_t> row_columns{};
  std::vector<std::string> texts{};
  std::string stream{};
  ReportOn on = ReportOn::order;
  ReportWith with{};
  std::vector<protocol::QuerySpec> queries{};
  std::int64_t tau_us = 0;

  /// Returns the request. It points into this object.
  protocol::RequestBody body() const;
  /// Returns whether the effect is the same before and after the end of a tick that has begun.
  bool may_follow_a_tick() const { return kind <= Kind::names; }
};

class RandomRequests {
 public:
  static constexpr std::uint64_t objects = 40;

  explicit RandomRequests(std::uint64_t seed) : random_(seed) {}

  OwnedRequest next();
  OwnedRequest tick();

 private:
  OwnedRequest rows(OwnedRequest::Kind kind, std::uint64_t count_max);
  OwnedRequest some_queries();
  std::string any_stream() { return "stream " + std::to_string(random_.below(3)); }
  double place() { return static_cast<double>(random_.below(4000)) / 100 - 20; }

  test::Random random_;
  std::int64_t tau_us_ = 10'000;
};

/// Sets the times after which the objects and tombstones of RandomRequests expire, and small
/// tables, with which a server starts fast.
void set_small_tables(ServerOptions& options);

}  // namespace starling::stream
