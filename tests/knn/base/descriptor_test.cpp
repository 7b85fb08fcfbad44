// SPDX-License-Identifier: Apache-2.0
// Tests which object closes a descriptor.
#include "starling/knn/base/descriptor.hpp"

#include <array>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace starling {
namespace {

bool is_open(int number) {
  return ::fcntl(number, F_GETFD) >= 0;
}

class DescriptorTest : public testing::Test {
 protected:
  DescriptorTest() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) == 0) number_ = ends[1];
    ::close(ends[0]);
  }
  int number_ = -1;
};

TEST_F(DescriptorTest, IsClosedByItsLastOwnerAlone) {
  {
    Descriptor owner;
    {
      Descriptor first(number_);
      Descriptor second(std::move(first));
      owner = std::move(second);
    }
    EXPECT_EQ(owner.number(), number_);
    EXPECT_TRUE(is_open(number_));
  }
  EXPECT_FALSE(is_open(number_));
}

TEST_F(DescriptorTest, StaysOpenOnceItIsHandedOver) {
  {
    Descriptor owner(number_);
    EXPECT_EQ(owner.release(), number_);
    EXPECT_FALSE(owner.is_open());
  }
  EXPECT_TRUE(is_open(number_));
  EXPECT_TRUE(Descriptor(number_).close());
  EXPECT_FALSE(is_open(number_));
}

}  // namespace
}  // namespace starling
