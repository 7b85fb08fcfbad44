// SPDX-License-Identifier: Apache-2.0
// Declares the table that says why each std::function that a class of stream/ holds is a callback
// and not a call, and the parser that finds these members. A callback can hide an arrow between two
// rooms from the table of #include lines. callbacks_test.cpp compares this table with the headers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::house {

/// Why a member is a callback.
enum class CallbackKind : std::uint8_t {
  clock,         ///< reads time, randomness, memory or another fact of the system; tests replace it
  continuation,  ///< work of the caller that runs later, or what runs when that work has ended
  hook,          ///< an optional watcher that the program or a test gives
  seam,          ///< runs code of a room above, which this room must not know: a hidden arrow
  below,         ///< runs code of a room that stands below, so a call may replace it
  inside,        ///< calls back within its own room
};

struct Callback {
  std::string_view file;  ///< a header below stream/, such as "http/api.hpp"
  std::string_view member;
  CallbackKind kind;
  /// The room whose code does the work in the end. Only `seam` and `below` have one.
  std::string_view target{};

  /// Returns the room of the file, such as "stream/http".
  std::string room() const;
};

/// Returns the row of each callback, sorted by file and member. A member of an options struct and
/// the private member that stores it have one row each.
const std::vector<Callback>& stream_callbacks();

struct Header {
  std::string file;
  std::string text;
};

/// A member, as its file and its name.
using Member = std::pair<std::string, std::string>;

/// Returns all data members that have std::function in their type, directly or through an alias
/// from any of these headers. Parameters, local variables and results are no members.
std::vector<Member> callback_members(const std::vector<Header>& headers);

}  // namespace starling::house
