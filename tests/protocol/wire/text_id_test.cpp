// SPDX-License-Identifier: Apache-2.0
// Tests the ids of texts. They are part of the wire protocol, so clients in other languages must
// compute the same ids.
#include "starling/protocol/wire/text_id.hpp"

#include <gtest/gtest.h>

namespace starling::protocol {
namespace {

TEST(TextId, DecimalTextIsItsNumber) {
  EXPECT_EQ(to_number(id_of_text("0")), 0u);
  EXPECT_EQ(to_number(id_of_text("42")), 42u);
  EXPECT_EQ(to_number(id_of_text("007")), 7u);
  EXPECT_EQ(to_number(id_of_text("18446744073709551615")), 18446744073709551615u);
  EXPECT_TRUE(is_decimal_id("18446744073709551615"));
}

// The expected values were computed with `xxhsum -H64`, the command of the reference
// implementation.
TEST(TextId, OtherTextIsItsXxh64WithSeed0) {
  EXPECT_EQ(to_number(id_of_text("")), 0xef46db3751d8e999u);
  EXPECT_EQ(to_number(id_of_text("a")), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(to_number(id_of_text("abc")), 0x44bc2cf5ad770999u);
}

TEST(TextId, TextThatIsNotPlainDigitsIsNoNumber) {
  for (const auto* text :
       {"", "-1", "+1", " 1", "1 ", "1.0", "0x10", "18446744073709551616", "1e3"})
    EXPECT_FALSE(is_decimal_id(text)) << text;
}

}  // namespace
}  // namespace starling::protocol
