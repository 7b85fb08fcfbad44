// SPDX-License-Identifier: Apache-2.0
// Tests NameTable, which maps ids back to the names in the input.
#include "starling/sim/data/traces/name_table.hpp"

#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"

namespace starling::sim {
namespace {

std::string text_of(const NameTable& names, std::uint64_t id) {
  NameTable::NumberText buffer;
  return std::string(names.text_of(id, buffer));
}

TEST(NameTable, GivesTextsBackAsTheyWereWritten) {
  NameTable names;
  for (const std::string text : {"7", "0", "040133", "3e4082", "car_0", "18446744073709551615",
                                 "18446744073709551616", "-1"})
    EXPECT_EQ(text_of(names, names.intern(text).id), text);
}

TEST(NameTable, AnUnknownIdIsItsNumber) {
  EXPECT_EQ(text_of(NameTable(), 42), "42");
}

TEST(NameTable, TextsThatDifferInLeadingZerosAreOneObjectUnderTheFirst) {
  NameTable names;
  EXPECT_EQ(names.intern("007").id, 7u);
  EXPECT_FALSE(names.intern("7").collides);
  EXPECT_FALSE(names.intern("07").collides);
  EXPECT_EQ(text_of(names, 7), "007");
}

TEST(NameTable, ANumberThatIsAnotherTextsHashCollides) {
  NameTable names;
  const std::uint64_t hash = names.intern("car_0").id;
  EXPECT_TRUE(names.intern(std::to_string(hash)).collides);
  EXPECT_EQ(text_of(names, hash), "car_0");

  NameTable numbers;
  numbers.intern(std::to_string(hash));
  EXPECT_TRUE(numbers.intern("car_0").collides);
}

}  // namespace
}  // namespace starling::sim
