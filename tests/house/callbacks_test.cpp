// SPDX-License-Identifier: Apache-2.0
// Checks the callbacks of stream/ against their table, and counts the arrows between its rooms: the
// #include lines, and those that callbacks hide. A design with fewer arrows is easier to read, so
// the count may only fall. Also tests the parser that finds the callbacks.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/house/callback_table.hpp"
#include "tests/house/include_table.hpp"

namespace starling::house {
namespace {

namespace fs = std::filesystem;

/// Number of arrows from rooms of stream/ to other rooms: the arrows of the table of rooms, and the
/// arrows that callbacks hide.
constexpr std::size_t arrows_max = 186;

/// Returns the headers of stream/, and those of the folders whose aliases they use.
std::vector<Header> headers() {
  const fs::path root = STARLING_SOURCE_DIR;
  std::vector<Header> found;
  for (const char* const top : {"knn", "log", "protocol", "stream"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || entry.path().extension() != ".hpp") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      found.push_back({fs::relative(entry.path(), root).string(), text.str()});
    }
  return found;
}

/// Returns the callbacks in the headers of stream/, sorted as the rows of the table are.
std::vector<Member> members_of_stream() {
  constexpr std::string_view folder = "stream/";
  std::vector<Member> members;
  for (auto& [file, member] : callback_members(headers()))
    if (file.starts_with(folder)) members.emplace_back(file.substr(folder.size()), member);
  std::ranges::sort(members);
  return members;
}

std::vector<Member> members_of_table() {
  std::vector<Member> members;
  for (const Callback& row : stream_callbacks()) members.emplace_back(row.file, row.member);
  return members;
}

/// Returns the members that are in `these` and not in `those`. Both must be sorted.
std::vector<Member> without(const std::vector<Member>& these, const std::vector<Member>& those) {
  std::vector<Member> rest;
  std::ranges::set_difference(these, those, std::back_inserter(rest));
  return rest;
}

/// Returns the index of a room in the table of rooms, which begins with the lowest room. Returns
/// the number of rooms if the table lacks the room.
std::ptrdiff_t height_of(std::string_view room) {
  return std::ranges::find(house_rooms(), room, &Room::name) - house_rooms().begin();
}

bool may_include(std::string_view room, std::string_view target) {
  const Room& from = house_rooms().at(static_cast<std::size_t>(height_of(room)));
  return std::ranges::find(from.may_include, target) != from.may_include.end();
}

std::vector<Member> found_in(const std::string& text) {
  return callback_members({{"a.hpp", text}});
}

TEST(Callbacks, AreAllInTheTableWithTheirReasons) {
  const std::vector<Member> found = members_of_stream();
  const std::vector<Member> rows = members_of_table();
  ASSERT_TRUE(std::ranges::is_sorted(rows)) << "sort the rows by file and member";
  for (const auto& [file, member] : without(found, rows))
    ADD_FAILURE() << "stream/" << file << ": " << member
                  << " is a new callback. Add a row with its reason to "
                     "tests/house/callback_table.cpp, or call a lower room instead.";
  for (const auto& [file, member] : without(rows, found))
    ADD_FAILURE() << "stream/" << file << " has no callback " << member
                  << " any more. Remove its row from tests/house/callback_table.cpp.";
}

TEST(Callbacks, NameTheRoomWhoseCodeTheyRun) {
  for (const Callback& row : stream_callbacks()) {
    const std::string name = "stream/" + std::string(row.file) + ": " + std::string(row.member);
    const bool needs_target = row.kind == CallbackKind::seam || row.kind == CallbackKind::below;
    EXPECT_EQ(row.target.empty(), !needs_target)
        << name << " must name a room only if it leaves its own";
    if (row.target.empty()) continue;
    ASSERT_LT(height_of(row.room()), std::ssize(house_rooms())) << name;
    ASSERT_LT(height_of(row.target), std::ssize(house_rooms()))
        << name << " names " << row.target << ", which is no room of include_table.cpp";
    if (row.kind == CallbackKind::below) {
      EXPECT_LT(height_of(row.target), height_of(row.room()))
          << name << " is a seam: " << row.target << " stands above";
    } else {
      EXPECT_GT(height_of(row.target), height_of(row.room()))
          << name << " is no seam: " << row.target << " stands below, so call it";
      EXPECT_FALSE(may_include(row.room(), row.target))
          << name << " is no seam: its room may include " << row.target << ", so call it";
    }
  }
}

TEST(Callbacks, AndIncludesMakeNoMoreArrowsThanBefore) {
  std::size_t included = 0;
  for (const Room& room : house_rooms())
    if (room.name == "stream" || room.name.starts_with("stream/"))
      included += room.may_include.size();
  std::set<std::pair<std::string, std::string>> hidden;
  for (const Callback& row : stream_callbacks())
    if (!row.target.empty() && !may_include(row.room(), row.target))
      hidden.emplace(row.room(), row.target);
  const std::size_t arrows = included + hidden.size();
  EXPECT_LE(arrows, arrows_max) << included << " arrows are includes, and callbacks hide "
                                << hidden.size() << ": a change must not add an arrow";
  EXPECT_GE(arrows, arrows_max) << "there are fewer arrows: lower arrows_max to " << arrows;
}

TEST(CallbackParser, FindsMembersOfNestedClassesButNoParametersNorResults) {
  const auto found = found_in(R"(
namespace a {
class Hub {
 public:
  struct Parts {
    int limit = 3;
    std::function<void(int feed)> send;
    std::function<bool()> is_full = [] { return false; };
    const std::function<int()>& name_of;
  };
  explicit Hub(std::function<void()> arrived) : arrived_(std::move(arrived)) {}
  void cut(const std::function<bool(int)>& is_meant);
  std::function<int()> quotas() const { return [this] { return 1; }; }
  template <class Work>
  void post(Work work) {
    std::function<void()> local = work;
  }

 private:
  std::function<void()> arrived_;
};
std::function<void()> free_function(int count);
}  // namespace a
)");
  EXPECT_THAT(found, testing::ElementsAre(Member{"a.hpp", "send"}, Member{"a.hpp", "is_full"},
                                          Member{"a.hpp", "name_of"}, Member{"a.hpp", "arrived_"}));
}

TEST(CallbackParser, FindsMembersInContainersAndOverSeveralLines) {
  const auto found = found_in(R"(
template <class Item>
struct Waiting final : public Base<Item> {
  std::optional<std::function<void()>> last{};
  std::multimap<int, std::function<void()>> by_place;
  std::function<std::optional<Problem>(std::uint64_t reader, PrincipalId,
                                       const SocketBody&)>
      refusal_of;
  std::array<std::function<void()>, 4> four[2];
};
)");
  EXPECT_THAT(found, testing::ElementsAre(Member{"a.hpp", "last"}, Member{"a.hpp", "by_place"},
                                          Member{"a.hpp", "refusal_of"}, Member{"a.hpp", "four"}));
}

TEST(CallbackParser, FollowsAliasesToOtherHeadersWithinTheirScopes) {
  const std::string user = R"(
struct User {
  Pool::Step step;
  stream::Respond respond;
  Step other;
  OldPool::Step old;
  std::deque<std::optional<Pool::Done>> slots_;
};
)";
  const std::string pool = R"(
using Respond = std::function<void(Answer)>;
class Pool {
  using Step = std::function<bool()>;
  using Done = Step;
  struct Work {
    Step step_of_work;
    int count = 1'000'000;
  };
};
)";
  EXPECT_THAT(
      callback_members({{"user.hpp", user}, {"pool.hpp", pool}}),
      testing::ElementsAre(Member{"user.hpp", "step"}, Member{"user.hpp", "respond"},
                           Member{"user.hpp", "slots_"}, Member{"pool.hpp", "step_of_work"}));
}

TEST(CallbackParser, ReadsNoCommentsPreprocessorLinesAndLiterals) {
  const auto found = found_in(R"(
#define BEGIN struct Fake {
struct Real {
  // std::function<void()> commented;
  /* std::function<void()> starred; } */
  const char* text = "}; std::function<void()> quoted;";
  char brace = '}';
  enum class Kind { one, two };
  std::function<void()> real;  ///< as std::function<void()> another;
};
)");
  EXPECT_THAT(found, testing::ElementsAre(Member{"a.hpp", "real"}));
}

}  // namespace
}  // namespace starling::house
