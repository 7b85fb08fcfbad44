// SPDX-License-Identifier: Apache-2.0
// Computes how much a session's reported total has grown: see subscriber_losses.hpp.
#include "starling/stream/state/subscriber_losses.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace starling::stream {

std::uint64_t SubscriberLosses::report(std::uint64_t session, StreamId stream, std::uint64_t lost,
                                       std::uint64_t published) {
  Lost& known = lost_[{session, stream}];
  // If `lost` is less than before, the session has subscribed again and counts from zero.
  const std::uint64_t said = lost >= known.reported ? lost - known.reported : lost;
  const std::uint64_t news = std::min(said, published - std::min(published, known.believed));
  known.reported = lost;
  known.believed += news;
  return news;
}

void SubscriberLosses::drop_session(std::uint64_t session) {
  const auto first = lost_.lower_bound({session, StreamId{0}});
  auto last = first;
  while (last != lost_.end() && last->first.first == session) ++last;
  lost_.erase(first, last);
}

void SubscriberLosses::drop_stream(StreamId stream) {
  constexpr StreamId last{std::numeric_limits<std::underlying_type_t<StreamId>>::max()};
  for (auto entry = lost_.begin(); entry != lost_.end();) {
    const std::uint64_t session = entry->first.first;
    lost_.erase({session, stream});
    entry = lost_.upper_bound({session, last});
  }
}

}  // namespace starling::stream
