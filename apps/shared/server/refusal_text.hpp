// SPDX-License-Identifier: Apache-2.0
// Refusals of a server as sentences for users who do not know the protocol.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "starling/protocol/client/result.hpp"
#include "starling/protocol/wire/errors.hpp"

namespace starling::apps {

/// Says why a request was refused, and what to do. `stream` is the stream that the request named,
/// if it named one.
std::string refusal_text(const protocol::Problem& problem, std::string_view stream = {});

/// Says why the server rejected rows for `reason`, and what to do. `limit` is the limit that the
/// rows reached; its name is empty if the reason is no limit.
std::string rejection_text(protocol::RowReason reason, const protocol::ReachedLimit& limit);

/// Returns the value, or throws std::runtime_error with refusal_text().
template <class T>
T value_of(protocol::Result<T> result, std::string_view stream = {}) {
  if (!result) throw std::runtime_error(refusal_text(result.problem(), stream));
  return std::move(result).value();
}

}  // namespace starling::apps
