// SPDX-License-Identifier: Apache-2.0
// Tests producers that send without end and read no replies. Meanwhile the server must answer other
// clients and use bounded memory. Afterwards every list must be exact.
#include <atomic>

#include <gtest/gtest.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/resident_bytes.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Sends one frame again and again, as fast as the server takes it, and never reads a reply. The
/// destructor stops it.
class Flood {
 public:
  Flood(const RunningServer& server, std::string frame)
      : frame_(std::move(frame)), thread_([this, &server] { run(server); }) {}
  ~Flood() {
    stopped_ = true;
    thread_.join();
  }

  std::size_t bytes_taken() const { return bytes_taken_; }

 private:
  void run(const RunningServer& server) {
    zmq::socket_t socket(server.context(), zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::sndhwm, 2);  // waiting messages count as memory of this process
    socket.set(zmq::sockopt::sndtimeo, 10);
    socket.connect(server.endpoints().commands);
    while (!stopped_)
      if (socket.send(zmq::buffer(frame_), zmq::send_flags::none)) bytes_taken_ += frame_.size();
  }

  std::string frame_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::size_t> bytes_taken_{0};
  std::thread thread_;
};

/// Returns the bytes of an update batch, about `bytes` of them. Its objects are far from the
/// witness's objects.
std::string update_of(std::uint64_t session, std::size_t bytes) {
  Fixes fixes;
  for (std::uint64_t id = 0; id < bytes / 32; ++id) fixes.add(id % 1000, 1, 0, 0);
  return encoded({.request_id = 1, .session = session, .sequence = 1}, fixes.batch());
}

class FloodTest : public testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    options.limits.frame_bytes_max = 4 * mebibyte;
    options.limits.credit_bytes = 8 * mebibyte;
    options.decode_bytes_max = 32 * mebibyte;
    return options;
  }

  /// Runs three floods at the same time, until the server has taken `bytes`. Meanwhile the witness
  /// moves objects, runs ticks and compares lists.
  void flood_until(std::size_t bytes, std::size_t frame_bytes) {
    RawPeer peer(server.context(), server.endpoints().commands);
    Witness witness(server);
    test::Random random(1);
    witness.move_and_expect_exact(random);
    const std::size_t bytes_before = resident_bytes();
    {
      Flood first(server, update_of(peer.hello(), frame_bytes));
      Flood second(server, update_of(peer.hello(), frame_bytes));
      Flood unknown(server, update_of(1, frame_bytes));
      EXPECT_TRUE(happens([&] {
        witness.move_and_expect_exact(random);
        return first.bytes_taken() + second.bytes_taken() + unknown.bytes_taken() >= bytes;
      }));
      EXPECT_LT(resident_bytes(), bytes_before + growth_bytes_max);
    }
    witness.move_and_expect_exact(random);
  }

  // This much covers the requests that wait for decoding, the messages that ZeroMQ holds for each
  // of the three producers, and the memory of the decoder and the allocator.
  static constexpr std::size_t growth_bytes_max = 256 * mebibyte + sanitizer_bytes;

  RunningServer server{options()};
};

TEST_F(FloodTest, OfLongRequestsHoldsUpNobodyAndTakesBoundedMemory) {
  flood_until(1024 * mebibyte, 2 * mebibyte);
}

TEST_F(FloodTest, OfShortRequestsHoldsUpNobodyAndTakesBoundedMemory) {
  flood_until(16 * mebibyte, 320);
}

}  // namespace
}  // namespace starling::stream
