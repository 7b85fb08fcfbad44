// SPDX-License-Identifier: Apache-2.0
// Tests the conversion of spaces to names and back.
#include "starling/knn/words/space.hpp"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(Space, HasAName) {
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84})
    EXPECT_EQ(space_from_string(to_string(space)), space);
  EXPECT_EQ(space_from_string("wgs84"), Space::wgs84);
  EXPECT_EQ(space_from_string("mars"), std::nullopt);
}

}  // namespace
}  // namespace starling
