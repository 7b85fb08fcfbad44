// SPDX-License-Identifier: Apache-2.0
// Tests which peers count as one address.
#include "starling/stream/turns/peer_address.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace starling::stream {
namespace {

TEST(PeerAddresses, OfIPv4AreToldApartByEachBit) {
  EXPECT_NE(address_of("10.0.0.1"), address_of("10.0.0.2"));
  EXPECT_EQ(address_of("10.0.0.1"), address_of("::ffff:10.0.0.1"));
}

TEST(PeerAddresses, OfIPv6AreToldApartByTheirNetwork) {
  EXPECT_EQ(address_of("2001:db8:1:2::1"), address_of("2001:db8:1:2:ffff::9"));
  EXPECT_NE(address_of("2001:db8:1:2::1"), address_of("2001:db8:1:3::1"));
  EXPECT_NE(address_of("::1"), address_of("::2"));
}

TEST(PeerAddresses, OfOtherTextAndOfOtherFamiliesAreZero) {
  EXPECT_EQ(address_of("example.org"), PeerAddress{});
  EXPECT_EQ(address_of("10.0.0.1:80"), PeerAddress{});
  sockaddr_storage local{};
  local.ss_family = AF_UNIX;
  EXPECT_EQ(address_of(local), PeerAddress{});
}

TEST(PeerAddresses, OfASocketAndOfItsTextAreEqual) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(0x7f000002);
  sockaddr_storage storage{};
  std::memcpy(&storage, &four, sizeof(four));
  EXPECT_EQ(address_of(storage), address_of("127.0.0.2"));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  std::memcpy(&storage, &six, sizeof(six));
  EXPECT_EQ(address_of(storage), address_of("::1"));
}

}  // namespace
}  // namespace starling::stream
