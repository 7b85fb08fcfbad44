// What a server answered: the value asked for, or why it refused. Returned by Client.
#pragma once

#include <stdexcept>
#include <utility>
#include <variant>

#include "starling/protocol/wire/errors.hpp"

namespace starling::protocol {

/// Thrown by Result::value for programs to which a refusal is the end.
class RefusedError : public std::runtime_error {
 public:
  explicit RefusedError(const Problem& problem)
      : std::runtime_error(problem.sentence), code(problem.code) {}
  ErrorCode code;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : outcome_(std::in_place_index<0>, std::move(value)) {}
  Result(Problem problem) : outcome_(std::in_place_index<1>, std::move(problem)) {}

  bool has_value() const { return outcome_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// Only if there is a value.
  const T& operator*() const { return *std::get_if<0>(&outcome_); }
  const T* operator->() const { return std::get_if<0>(&outcome_); }
  /// Only if there is none.
  const Problem& problem() const { return *std::get_if<1>(&outcome_); }

  T value() && {
    if (!has_value()) throw RefusedError(problem());
    return std::move(*std::get_if<0>(&outcome_));
  }

 private:
  std::variant<T, Problem> outcome_;
};

}  // namespace starling::protocol
