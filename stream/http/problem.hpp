// SPDX-License-Identifier: Apache-2.0
// Error answers of the HTTP endpoint, as application/problem+json (RFC 9457).
#pragma once

#include <cstdint>
#include <string_view>

#include "starling/protocol/wire/errors.hpp"
#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {

/// Returns an error answer. `sentence` says what was wrong and what to do. `code` is the name of an
/// ErrorCode or RowReason, or empty.
HttpAnswer problem_answer(unsigned status, std::string_view sentence, std::string_view code = {});
/// Returns the answer for a refusal of the server, with the limit that was reached, if there is
/// one.
HttpAnswer problem_answer(const protocol::Problem& problem);
/// The words of no_place_answer(), for one kind of connections.
struct PlaceWords {
  std::string_view connections;  ///< their name in the plural, such as "WebSockets"
  std::string_view limit;        ///< name of the limit of all places
  std::string_view quota;        ///< name of the quota in the keys file
};
/// Returns the answer to a request for a connection of which `taken` says that it gets no place.
HttpAnswer no_place_answer(const PlaceWords& words, const Places::Taken& taken);

/// Returns the answer to a request that comes while the server stops.
HttpAnswer stopping_answer();

/// Returns the answer to a question about an object that the tick does not have.
HttpAnswer unknown_object_answer(std::uint64_t tick, std::int64_t tau_us);

/// Returns the HTTP status that says the same as `code`.
unsigned status_of(protocol::ErrorCode code);

}  // namespace starling::stream
