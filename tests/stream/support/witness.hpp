// SPDX-License-Identifier: Apache-2.0
// A client that does nothing wrong, mirrored by an oracle: whatever others do to the server, what
// it is told and what it holds as a subscriber is the oracle's answer.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/stream/support/running_server.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

class Witness {
 public:
  enum class Ticks : std::uint8_t { on_request, by_the_clock };

  /// Its objects live in a corner that nobody else goes to, and its queries look no further.
  Witness(zmq::context_t& context, const Endpoints& endpoints, Ticks ticks = Ticks::on_request);
  explicit Witness(const RunningServer& server, Ticks ticks = Ticks::on_request)
      : Witness(server.context(), server.endpoints(), ticks) {}

  /// All its objects move.
  void move(test::Random& random);
  /// After a tick that has all moves: the direct answers and the subscription's lists.
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
  std::int64_t time_us_;  ///< of the objects, which is all that counts for them
};

/// What a sanitizer takes beside the process itself: freed memory, shadows.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t sanitizer_bytes = std::size_t{256} << 20;  // its quarantine
#elif defined(__SANITIZE_THREAD__)
inline constexpr std::size_t sanitizer_bytes = std::size_t{2} << 30;
#else
inline constexpr std::size_t sanitizer_bytes = 0;
#endif

/// Memory of this process that is in use, as the system counts it.
std::size_t resident_bytes();

}  // namespace starling::stream
