// SPDX-License-Identifier: Apache-2.0
// Honest clients of hostile_soak: one moves objects, one asks, one subscribes, and a Witness
// compares lists with an oracle.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <zmq.hpp>

#include "starling/protocol/keys/key_file.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/stream/support/witness.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

/// What the honest clients saw, in milliseconds.
struct HonestTimes {
  std::vector<double> update_ms{};
  std::vector<double> question_ms{};
  std::vector<double> tick_ms{};  ///< time from each tick's arrival to the next one's
  std::vector<double> list_ms{};  ///< time from a move to the lists of the second tick after it
  std::size_t resident_bytes_max = 0;  ///< the server's

  /// Returns the time that `part` of `times` do not exceed.
  static double at(std::vector<double> times, double part);
};

/// The keys of the clients. Empty: the server has no keys.
struct HonestKeys {
  std::optional<protocol::KeyPair> producer{};
  std::optional<protocol::KeyPair> asker{};
  std::optional<protocol::KeyPair> subscriber{};
  std::optional<protocol::KeyPair> witness{};
};

class HonestClients {
 public:
  static constexpr const char* stream = "honest";

  HonestClients(const Endpoints& endpoints, const HonestKeys& keys, std::uint64_t seed);

  /// Runs all clients for a time. A lost row and a wrong list are failures of the test, and so is a
  /// reply that does not come.
  HonestTimes run(double seconds, const Program& server);

  std::uint64_t ticks_lost();
  std::uint64_t rows_lost() const { return rows_lost_; }
  std::uint64_t refusals() const { return refusals_; }
  protocol::StatValues server_stats() { return asker_.get_stats().value(); }

 private:
  void produce(const std::function<bool()>& is_over, std::vector<double>& times);
  void ask(const std::function<bool()>& is_over, std::vector<double>& times);
  void follow(const std::function<bool()>& is_over, std::vector<double>& times);
  /// Counts the refusal of a request. The first one is a failure of the test.
  void note_refusal(const protocol::Problem& problem);

  zmq::context_t context_;
  test::Random random_;
  test::Random moves_;
  protocol::Client producer_;
  protocol::Client asker_;
  std::vector<std::chrono::steady_clock::time_point> arrivals_;
  std::optional<protocol::Subscriber> subscriber_;
  std::optional<Witness> witness_;
  std::atomic<std::uint64_t> rows_lost_{0};
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace starling::stream
