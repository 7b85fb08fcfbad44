// SPDX-License-Identifier: Apache-2.0
// A server's answer to a request: the requested value, or the reason for the refusal. The functions
// of Client return a Result.
#pragma once

#include <stdexcept>
#include <utility>
#include <variant>

#include "starling/protocol/wire/errors.hpp"

namespace starling::protocol {

/// Thrown by Result::value(), for programs that cannot go on after a refusal.
class RefusedError : public std::runtime_error {
 public:
  explicit RefusedError(const Problem& problem)
      : std::runtime_error(problem.sentence), code(problem.code) {}
  ErrorCode code;
};

/// A value of type T, or the Problem that explains the refusal. There are two ways to read a
/// Result; examples/client.cpp uses the second way:
///
///     const auto done = client.advance_tick(tau_us);
///     if (!done) std::cerr << done.problem().sentence << '\n';
///     const BatchReply reply = client.update(batch).value();  // throws RefusedError
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : outcome_(std::in_place_index<0>, std::move(value)) {}
  Result(Problem problem) : outcome_(std::in_place_index<1>, std::move(problem)) {}

  bool has_value() const { return outcome_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// Call only if there is a value.
  const T& operator*() const { return *std::get_if<0>(&outcome_); }
  const T* operator->() const { return std::get_if<0>(&outcome_); }
  /// Call only if there is no value.
  const Problem& problem() const { return *std::get_if<1>(&outcome_); }

  T value() && {
    if (!has_value()) throw RefusedError(problem());
    return std::move(*std::get_if<0>(&outcome_));
  }

 private:
  std::variant<T, Problem> outcome_;
};

}  // namespace starling::protocol
