// SPDX-License-Identifier: Apache-2.0
// The table of requests: how each is prepared, and which family carries it out. A new kind of
// request needs a row here, a function of a family, and a row with its name and roles in
// access/rights.cpp.
#pragma once

#include <optional>

#include "starling/protocol/rows/served_space.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/requests/families.hpp"
#include "starling/stream/requests/prepare.hpp"

namespace starling::stream {

struct RequestRow {
  /// Converts the rows or questions of a request, or returns why it cannot convert them. Any thread
  /// may call it. Null: there is nothing to convert.
  std::optional<protocol::Problem> (*prepare)(PreparedRequest&,
                                              const protocol::ServedSpace&) = nullptr;
  /// Carries the request out. Call it only if the session is known and the request has no problem.
  void (*carry_out)(Families&, const Caller&, PreparedRequest&) = nullptr;
  /// Whether the sequence number is used up before `carry_out` is called; false: `carry_out` itself
  /// uses it up.
  bool uses_number = true;
};

const RequestRow& row_of(const protocol::RequestBody& body);

}  // namespace starling::stream
