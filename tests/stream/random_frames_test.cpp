// SPDX-License-Identifier: Apache-2.0
// Sends frames of random bytes, and randomly damaged valid frames, to a running server. The server
// must answer each frame, keep the lists of a correct client exact, and use bounded memory.
// STARLING_HOSTILE_FRAMES sets the number of frames. The slow test sends a million.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/protocol/wire/samples.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/resident_bytes.hpp"
#include "tests/stream/support/witness.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t frames_default = 20'000;
constexpr std::uint64_t frames_at_a_time = 250;  // fewer replies than ZeroMQ keeps for a peer
constexpr std::uint64_t rounds_between_checks = 20;

// The first tenth of the frames fills tables and queues. After these frames, memory may grow by at
// most this much.
constexpr std::size_t growth_bytes_max = (std::size_t{64} << 20) + sanitizer_bytes;

class HostilePeer {
 public:
  HostilePeer(const RunningServer& server, test::Random& random)
      : peer_(server.context(), server.endpoints().commands),
        random_(random),
        session_(peer_.hello()) {}

  void send_and_expect_answers(std::uint64_t count) {
    for (std::uint64_t frame = 0; frame < count; ++frame) peer_.send(next_frame());
    for (std::uint64_t frame = 0; frame < count; ++frame) {
      const auto reply = peer_.receive();
      ASSERT_TRUE(reply) << "a frame was not answered";
      if (const auto* error = std::get_if<protocol::ErrorReply>(&reply->decoded.body))
        sequence_ = std::max<std::uint64_t>(error->sequence_expected, 1);
      else if (reply->decoded.head.sequence != 0)
        sequence_ = reply->decoded.head.sequence + 1;
    }
  }

 private:
  std::string next_frame() {
    if (random_.chance(0.1)) return noise(random_.below(400));
    auto sample = random_.pick(samples_);
    sample.head.session = session_;
    if (sample.head.sequence != 0 && random_.chance(0.7)) sample.head.sequence = sequence_;
    std::string frame = encoded(sample.head, sample.body);
    if (random_.chance(0.1)) return frame;
    if (random_.chance(0.1)) frame.resize(random_.below(frame.size()));
    if (random_.chance(0.1)) frame += noise(random_.below(64));
    for (std::uint64_t count = random_.below(6); count > 0 && !frame.empty(); --count)
      damage(frame);
    return frame;
  }

  std::string noise(std::uint64_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_.next());
    return bytes;
  }

  /// Changes one byte. Flips one of its bits, or sets it to a random value or to a value that is
  /// typical of offsets and lengths.
  void damage(std::string& frame) {
    constexpr unsigned char numbers[] = {0, 1, 2, 4, 8, 0x7f, 0x80, 0xfc, 0xff};
    char& byte = frame[random_.below(frame.size())];
    switch (random_.below(3)) {
      case 0:
        byte = static_cast<char>(random_.next());
        break;
      case 1:
        byte = static_cast<char>(byte ^ (1 << random_.below(8)));
        break;
      default:
        byte = static_cast<char>(random_.pick(std::span<const unsigned char>(numbers)));
    }
  }

  RawPeer peer_;
  test::Random& random_;
  std::vector<protocol::test::NamedRequest> samples_ = protocol::test::sample_requests();
  std::uint64_t session_;
  std::uint64_t sequence_ = 1;
};

/// Sends a vector that is far from all others, and expects to find it. The server must have a
/// vector space.
void expect_own_vector_found(protocol::Client& client) {
  const std::uint64_t ids[] = {0x57'0000'0000};
  const std::int64_t times_us[] = {1};
  const float corner[] = {1e6f, -1e6f, 1e6f};
  ASSERT_EQ(
      client.update({.ids = ids, .times_us = times_us, .coordinates_f32 = corner, .dimension = 3})
          .value()
          .accepted,
      1u);
  const protocol::QuerySpec question{.k = 1, .vector = {corner[0], corner[1], corner[2]}};
  const std::vector<protocol::HeldNeighbor> expected{{ObjectId{ids[0]}, 0}};
  EXPECT_TRUE(happens(
      [&] { return client.get_neighbors({{question}}).value().lists[0].neighbors == expected; }));
}

TEST(HostileFrames, AreAllAnsweredWhileTheServerStaysExactAndBounded) {
  for (const std::uint64_t seed : test::seeds(1)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    ServerOptions options = manual_options();
    options.tick_period_us = 2000;  // so that hostile frames cannot advance ticks
    options.processor.objects.objects_max = 1u << 14;
    options.processor.queries.neighbors_max = 1u << 16;
    RunningServer server(options);
    Witness witness(server, Witness::Ticks::by_the_clock);
    witness.move_and_expect_exact(random);
    HostilePeer hostile(server, random);
    const std::uint64_t rounds =
        test::number_in_environment("STARLING_HOSTILE_FRAMES", frames_default) / frames_at_a_time;
    std::size_t bytes_before = 0;
    for (std::uint64_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      if (round == rounds / 10) bytes_before = resident_bytes();
      hostile.send_and_expect_answers(frames_at_a_time);
      if (round % rounds_between_checks == 0) witness.move_and_expect_exact(random);
    }
    witness.move_and_expect_exact(random);
    EXPECT_LT(resident_bytes(), bytes_before + growth_bytes_max);
    EXPECT_EQ(server.stat("starling_replies_dropped_total"), 0);
  }
}

TEST(HostileVectors, AreAllAnsweredWhileTheServerFindsWhatItHolds) {
  for (const std::uint64_t seed : test::seeds(1)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    ServerOptions options = manual_options();
    options.tick_period_us = 2000;
    options.processor.space.space = Space::vector;
    options.processor.space.dimension = 3;
    options.processor.objects.objects_max = 1u << 12;
    options.processor.queries.neighbors_max = 1u << 16;
    RunningServer server(options);
    auto client = server.client();
    expect_own_vector_found(client);
    HostilePeer hostile(server, random);
    constexpr std::uint64_t frames = 5000;
    for (std::uint64_t sent = 0; sent < frames && !testing::Test::HasFailure();
         sent += frames_at_a_time)
      hostile.send_and_expect_answers(frames_at_a_time);
    expect_own_vector_found(client);
    EXPECT_EQ(server.stat("starling_replies_dropped_total"), 0);
  }
}

}  // namespace
}  // namespace starling::stream
