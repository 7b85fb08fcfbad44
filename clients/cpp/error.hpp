// SPDX-License-Identifier: Apache-2.0
// The exception of starling.hpp, and the functions that throw it for codes of starling.h and for
// refused rows.
#pragma once

#ifdef STARLING_ENGINE_HEADERS
#error "Include starling.hpp and the engine's own headers in different files: names are equal."
#endif
#define STARLING_ONE_HEADER

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <starling.h>

namespace starling {
inline namespace v0 {

/// What every failed call throws. what() says what is wrong, where, and what is allowed. The call
/// has changed nothing, unless its comment says otherwise.
class Error : public std::runtime_error {
 public:
  Error(starling_code code, const std::string& sentence, std::string name = {})
      : std::runtime_error(sentence), code_(code), name_(std::move(name)) {}
  starling_code code() const noexcept { return code_; }
  /// Returns the code of a refusal, such as "unknown_stream"; "" for other failures.
  const std::string& name() const noexcept { return name_; }

 private:
  starling_code code_;
  std::string name_;
};

namespace detail {

inline void check(starling_code code) {
  if (code == STARLING_OK) return;
  starling_error error{};
  error.size = sizeof(error);
  starling_last_error(&error);
  throw Error(code, error.sentence, error.name);
}

/// If `holds` is false, throws Error with a sentence that joins `parts`, which are texts and
/// integers.
template <class... Parts>
void check_argument(bool holds, const Parts&... parts) {
  if (holds) return;
  std::string sentence;
  const auto append = [&](const auto& part) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>)
      sentence += std::to_string(part);
    else
      sentence += part;
  };
  (append(parts), ...);
  throw Error(STARLING_INVALID_ARGUMENT, sentence);
}

template <auto destroy>
struct Destroy {
  void operator()(auto* handle) const noexcept { destroy(handle); }
};

template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof(made);
  return made;
}

inline const char* remedy_of(starling_row_status status) {
  switch (status) {
    case STARLING_ROW_TIME_OUT_OF_RANGE:
      return "Times are within 2^61 microseconds of 0.";
    case STARLING_ROW_UNKNOWN_OBJECT:
      return "Put the object first.";
    case STARLING_ROW_TOO_MANY_OBJECTS:
      return "Raise EngineOptions::objects_max, or remove objects.";
    case STARLING_ROW_POSITION_NOT_FINITE:
    case STARLING_ROW_COMPONENT_NOT_FINITE:
      return "Give finite numbers.";
    case STARLING_ROW_POSITION_OUT_OF_RANGE:
      return "Coordinates are within 2^30 times resolution_m of the origin.";
    case STARLING_ROW_LONGITUDE_OUT_OF_RANGE:
      return "The longitude comes first, and is -180 to 180 degrees.";
    case STARLING_ROW_LATITUDE_OUT_OF_RANGE:
      return "The latitude comes second, and is -90 to 90 degrees.";
    case STARLING_ROW_UNKNOWN_QUERY:
      return "The stream has no query with this id.";
    case STARLING_ROW_TOO_MANY_QUERIES:
      return "Raise EngineOptions::queries_max, or remove queries.";
    case STARLING_ROW_TOO_MANY_NEIGHBORS:
      return "Raise EngineOptions::neighbors_max, or ask for a smaller k.";
    case STARLING_ROW_COMPONENT_TOO_LARGE:
      return "Components are within 2^56 of 0.";
    case STARLING_ROW_COMPONENT_NEGATIVE:
      return "The metric of the space takes no component below 0.";
    case STARLING_ROW_VALUE_INFINITE:
      return "Values are finite, or NaN for none.";
    default:
      return "starling.h says what the status means.";
  }
}

/// Throws Error for the first refused row. Late rows do not count as refused.
[[noreturn]] inline void refuse(std::span<const starling_row_status> statuses, const char* row,
                                std::span<const std::uint64_t> ids) {
  const auto refused = std::ranges::find_if(statuses, [](starling_row_status status) {
    return status != STARLING_ROW_ACCEPTED && status != STARLING_ROW_LATE;
  });
  const auto i = static_cast<std::size_t>(refused - statuses.begin());
  const std::string name = starling_row_status_text(*refused);
  std::string words = name;
  std::ranges::replace(words, '_', ' ');
  throw Error(STARLING_REFUSED,
              std::string(row) + " " + std::to_string(i) + " (id " + std::to_string(ids[i]) +
                  ") is refused: " + words + ". " + remedy_of(*refused),
              name);
}

}  // namespace detail

}  // namespace v0
}  // namespace starling
