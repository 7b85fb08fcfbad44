// SPDX-License-Identifier: Apache-2.0
// What the tests of the C interface share: options with defaults, the last error, and lists as
// text. They call the library's exported functions only.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/clients/c/starling.h"

namespace starling::c_test {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinite = std::numeric_limits<double>::infinity();
inline constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

/// Returns the error of this thread's last failed call.
inline starling_error last_error() {
  starling_error error{};
  error.size = sizeof(error);
  EXPECT_EQ(starling_last_error(&error), STARLING_OK);
  return error;
}

/// Checks that a call failed with this code, and that its sentence has more than 10 characters.
inline void expect_refused(starling_code expected, starling_code code, const char* call) {
  EXPECT_EQ(code, expected) << call << ": " << last_error().sentence;
  if (code == STARLING_OK) return;
  EXPECT_EQ(last_error().code, code) << call;
  const std::string sentence = last_error().sentence;
  EXPECT_GT(sentence.size(), 10U) << call << " says nothing";
}
#define EXPECT_REFUSED(code, call) starling::c_test::expect_refused(code, call, #call)
#define EXPECT_FINE(call) EXPECT_EQ(call, STARLING_OK) << starling::c_test::last_error().sentence

template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof(made);
  return made;
}

inline starling_engine_options engine_options() {
  starling_engine_options options;
  EXPECT_FINE(starling_engine_options_init(&options, sizeof(options)));
  options.backend = STARLING_BACKEND_CPU;
  options.threads = 1;
  return options;
}

inline starling_index_options index_options() {
  starling_index_options options;
  EXPECT_FINE(starling_index_options_init(&options, sizeof(options)));
  options.backend = STARLING_BACKEND_CPU;
  options.threads = 1;
  return options;
}

inline starling_stream stream(const char* name) {
  starling_stream made;
  EXPECT_FINE(starling_stream_init(&made, sizeof(made)));
  made.name = name;
  return made;
}

inline starling_query query(std::uint64_t id, std::uint32_t k) {
  starling_query made;
  EXPECT_FINE(starling_query_init(&made, sizeof(made)));
  made.id = id;
  made.k = k;
  return made;
}

/// Returns the lists of a result as text: the query, the objects and their distances.
inline std::string text_of(const starling_result* result) {
  auto info = sized<starling_tick_info>();
  EXPECT_FINE(starling_result_info(result, &info));
  std::string text;
  for (std::uint64_t stream = 0; stream < info.stream_count; ++stream) {
    auto lists = sized<starling_lists>();
    EXPECT_FINE(starling_result_lists(result, stream, &lists));
    for (std::uint64_t i = 0; i < lists.list_count; ++i) {
      text += std::string(lists.stream) + " " + std::to_string(lists.query_ids[i]) +
              (lists.events[i] == STARLING_LIST_REMOVED ? " removed:" : ":");
      for (std::uint64_t j = lists.offsets[i]; j < lists.offsets[i + 1]; ++j)
        text += " " + std::to_string(lists.object_ids[j]) + "@" +
                std::to_string(static_cast<int>(lists.distances[j]));
      text += "\n";
    }
  }
  return text;
}

/// Returns a pointer to memory that is no handle.
template <class Handle>
Handle* not_a_handle() {
  static std::uint64_t memory[8]{};
  return reinterpret_cast<Handle*>(memory);
}

}  // namespace starling::c_test
