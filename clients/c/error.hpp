// SPDX-License-Identifier: Apache-2.0
// The boundary of the C interface: no exception leaves it. guard() turns each exception into a
// code, and keeps its sentence for starling_last_error. The functions of starling.h run inside
// guard().
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "starling/clients/c/starling.h"
#include "starling/protocol/wire/errors.hpp"

namespace starling::c {

/// A failure as starling_last_error reports it.
struct Failure {
  starling_code code = STARLING_INTERNAL;
  std::string name{};  ///< name of a refusal's ErrorCode; else empty
  std::string sentence{};
  std::string limit_name{};
  std::uint64_t limit_value = 0;
};

/// What the functions behind the interface throw.
class FailureError : public std::runtime_error {
 public:
  explicit FailureError(Failure why) : std::runtime_error(why.sentence), failure(std::move(why)) {}
  Failure failure;
};

[[noreturn]] void fail(starling_code code, std::string sentence);
/// Throws FailureError with the code STARLING_REFUSED, or STARLING_TICK_FAILED if the engine
/// failed.
[[noreturn]] void fail(const protocol::Problem& problem);

/// Keeps the exception that is being handled as this thread's last error. Returns its code.
starling_code keep_error() noexcept;

/// Runs `body`. Returns STARLING_OK, or the code of the exception that `body` threw.
template <class Body>
starling_code guard(Body body) noexcept {
  try {
    body();
    return STARLING_OK;
  } catch (...) {
    return keep_error();
  }
}

}  // namespace starling::c
