// SPDX-License-Identifier: Apache-2.0
// Draws a request of one of twelve hostile kinds: see hostile_requests.hpp.
#include "tests/stream/soak/hostile_requests.hpp"

#include <limits>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

using test::Random;

std::string hostile_request(const std::string& stream, Random& random, std::uint64_t session,
                            std::uint64_t& sequence) {
  const protocol::RequestHead plain{.request_id = random.next(), .session = session};
  const auto numbered = [&] {
    protocol::RequestHead head = plain;
    head.sequence = ++sequence;
    return head;
  };
  const std::string own = "hostile" + std::to_string(random.below(200));
  const std::size_t rows = 1 + random.below(2000);
  switch (random.below(12)) {
    case 0: {  // ids that were chosen to collide
      Fixes fixes;
      for (std::size_t row = 0; row < rows; ++row)
        fixes.add(1'000'000 + 351'061 * random.below(20'000), 1, 0, 0);
      return encoded(numbered(), fixes.batch());
    }
    case 1: {
      Fixes fixes;
      for (std::size_t row = 0; row < rows; ++row) {
        const bool is_bad = random.chance(0.5);
        fixes.add(1'000'000 + random.below(100'000),
                  is_bad ? std::numeric_limits<std::int64_t>::max() : wall_now_us(),
                  is_bad ? std::numeric_limits<double>::quiet_NaN() : -1e6 * random.unit(), 1e300);
      }
      return encoded(numbered(), fixes.batch());
    }
    case 2:
      return encoded(numbered(),
                     protocol::PutStream{.name = own, .on = ReportOn::order, .with = {}});
    case 3:
      return encoded(numbered(), protocol::RemoveStream{.name = own});
    case 4: {
      protocol::PutQueries put{.stream = own, .queries = {}};
      for (std::size_t count = 0; count < rows; ++count)
        put.queries.push_back(nearest_to(351'061 * random.below(1000),
                                         static_cast<std::uint32_t>(random.below(2000)),
                                         -1e6 * random.unit(), 0));
      return encoded(numbered(), put);
    }
    case 5:
      return encoded(plain, protocol::GetSnapshot{.stream = stream});
    case 6: {
      protocol::GetNeighbors ask;
      for (int count = 0; count < 20; ++count)
        ask.questions.push_back(nearest_to(0, 1024, -1e6 * random.unit(), 0));
      return encoded(plain, ask);
    }
    case 7:
      return encoded(numbered(), protocol::AdvanceTick{random.between(-1'000'000, 1'000'000)});
    case 8:
      return encoded(plain, protocol::GetStats{});
    case 9:
      return encoded({.request_id = 1, .session = random.next(), .sequence = random.next()},
                     protocol::GetStats{});
    case 10:
      return encoded({}, protocol::Hello{.client = "x\n[error] forged"});
    default: {
      Fixes fixes;
      fixes.add(1, 1, 0, 0);
      std::string bad = encoded(plain, fixes.batch());
      for (int flips = 0; flips < 3; ++flips)
        bad[random.below(bad.size())] = static_cast<char>(random.below(256));
      return bad;
    }
  }
}

}  // namespace starling::stream
