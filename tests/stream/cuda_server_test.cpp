// SPDX-License-Identifier: Apache-2.0
// Tests a server with the CUDA engine, from socket to socket. A subscriber gets the bytes that a
// server with the CPU engine publishes.
#include <string>

#include <gtest/gtest.h>

#include "starling/gpu/backend.hpp"
#include "tests/stream/support/published_bytes.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

class CudaServer : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    if (gpu::find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }
};

TEST_F(CudaServer, PublishesTheBytesOfTheCpuServer) {
  for (const std::uint64_t seed : test::seeds(5))
    for (const Space space : {Space::planar2, Space::planar3, Space::wgs84}) {
      SCOPED_TRACE(test::replay_hint(seed));
      const PublishedScript script{.seed = seed, .space = space};
      EXPECT_EQ(publish(script, gpu::make_engine({.space = space})),
                publish(script, make_engine({.space = space})));
    }
}

TEST_F(CudaServer, PublishesTheBytesOfTheCpuServerWhenRowsAreManyEnoughToBeCopiedAhead) {
  const PublishedScript script{.objects = 60'000, .ticks = 6, .update_threads = 4};
  EXPECT_EQ(publish(script, gpu::make_engine({})), publish(script, make_engine()));
}

TEST_F(CudaServer, PublishesTheBytesOfTheCpuServerWhenRowsAreCopiedInParts) {
  for (const unsigned threads : {1u, 4u}) {
    const PublishedScript script{.objects = 20'000, .ticks = 20, .update_threads = threads};
    EXPECT_EQ(publish(script, gpu::make_engine({.small = {.part_rows_min = 100}})),
              publish(script, make_engine()));
  }
}

}  // namespace
}  // namespace starling::stream
