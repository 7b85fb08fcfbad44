// SPDX-License-Identifier: Apache-2.0
// Witness is a correct client with an oracle that gets the same data. Whatever other clients do to
// the server, the witness's answers and its subscribed lists must equal the oracle's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/stream/support/running_server.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

class Witness {
 public:
  enum class Ticks : std::uint8_t { on_request, by_the_clock };

  /// The witness's objects and queries stay in a corner of the space that no other client uses.
  /// `key` is for a server with keys.
  /// `reconnect_after_ms`: see protocol::ClientOptions.
  Witness(zmq::context_t& context, const Endpoints& endpoints, Ticks ticks = Ticks::on_request,
          const std::optional<protocol::KeyPair>& key = std::nullopt,
          std::int64_t reconnect_after_ms = 5'000);
  explicit Witness(const RunningServer& server, Ticks ticks = Ticks::on_request)
      : Witness(server.context(), server.endpoints(), ticks) {}

  /// Moves all objects of the witness.
  void move(test::Random& random);
  /// Waits for a tick that contains all moves. Then compares the answers and the subscribed lists
  /// with the oracle's.
  void expect_exact();
  void move_and_expect_exact(test::Random& random) {
    move(random);
    expect_exact();
  }

  protocol::Client& client() { return client_; }
  protocol::Subscriber& subscriber() { return subscriber_; }

 private:
  protocol::NeighborAnswers answers_of_a_new_tick();

  Ticks ticks_;
  protocol::Client client_;
  protocol::Subscriber subscriber_;
  test::Oracle oracle_;
  std::vector<protocol::QuerySpec> queries_;
  std::int64_t time_us_;  ///< the event time of the last move; also tau of manual ticks
};

}  // namespace starling::stream
