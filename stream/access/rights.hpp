// SPDX-License-Identifier: Apache-2.0
// Which role each request needs, and which streams, objects and queries a principal may name in it.
// Access and prepare.cpp check requests before they reach the tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "starling/protocol/rows/prepared_rows.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/protocol/wire/socket_codec.hpp"
#include "starling/stream/access/principal.hpp"

namespace starling::stream {

/// Returns the roles that permit a request; a principal needs only one of them. Empty: every client
/// that may connect may send the request.
Roles roles_for(const protocol::RequestBody& body);
/// Returns the same for a request that only WebSockets have, such as View or Follow.
Roles roles_for(const protocol::SocketBody& body);

/// Returns the name of a request in the wire's schema, such as "PutQueries".
std::string_view name_of(const protocol::RequestBody& body);
std::string_view name_of(const protocol::SocketBody& body);

/// Returns whether the principal has one of the roles, or is an admin, or no role is needed.
bool has_one_of(const Principal& principal, const Roles& roles);
/// Returns the roles as a part of a sentence, such as "query or subscribe".
std::string text_of(const Roles& roles);

/// Returns the refusal of a principal that has none of the roles. `what` is a request, such as
/// "PutQueries", or a route, such as "GET /v1/stats".
protocol::Problem lacks_role(const Principal& principal, std::string_view what, const Roles& roles);

/// Returns why the principal may not send the request at all: it lacks a role, or may not use the
/// stream that the request names. The code is not_allowed. std::nullopt: it may send the request.
/// `principal` is null if it is no longer in the keys file.
std::optional<protocol::Problem> refusal_of(const Principal* principal,
                                            const protocol::RequestBody& body);
std::optional<protocol::Problem> refusal_of(const Principal* principal,
                                            const protocol::SocketBody& body);

/// Rejects the rows whose object or query is outside the principal's ranges, with the reason
/// not_allowed. Takes about a nanosecond for a row, and nothing if the principal has no ranges.
void reject_foreign_rows(const Principal& principal, protocol::PreparedRows& rows);

}  // namespace starling::stream
