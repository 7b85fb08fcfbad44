// SPDX-License-Identifier: Apache-2.0
// Gives readers turns by their use of the thread: see read_turns.hpp.
#include "starling/stream/turns/read_turns.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/insist.hpp"

namespace starling::stream {

namespace {

// Readers that are ready at the same time come one after another within less than this time. A
// reader that comes later is probably alone, and a turn at once costs it less than the queue.
constexpr std::int64_t alone_after_us = 20;
// A turn that seems to have taken longer has waited for the processor.
constexpr std::int64_t turn_us_max = 400;

}  // namespace

void ReadTurns::add(std::shared_ptr<Reader> reader) {
  const bool is_alone = !turns_.is_ready() && steady_now_us() - read_us_ >= alone_after_us;
  if (is_alone) {
    const bool has_more = reader->take_read_turn();
    read_us_ = steady_now_us();
    if (!has_more) return;
  }
  const Payer payer = reader->reads_for();
  turns_.push(payer, std::move(reader));
  turn_soon();
}

void ReadTurns::turn_soon() {
  if (!turns_.is_ready() || is_turn_posted_) return;
  // Between two turns, the thread finds the connections that have become ready.
  boost::asio::post(loop_, [self = shared_from_this()] {
    self->is_turn_posted_ = false;
    self->take_turn();
    insist([&] { self->turn_soon(); });
  });
  is_turn_posted_ = true;
}

void ReadTurns::take_turn() {
  std::shared_ptr<Reader> unfinished;
  turns_.serve_next(
      [&](const Payer&, std::shared_ptr<Reader>& reader) -> std::optional<std::int64_t> {
        const std::int64_t since_us = steady_now_us();
        if (reader->take_read_turn()) unfinished = std::move(reader);
        read_us_ = steady_now_us();
        return std::min(read_us_ - since_us, turn_us_max) + 1;
      });
  if (unfinished == nullptr) return;
  const Payer payer = unfinished->reads_for();
  insist([&] { turns_.push(payer, unfinished); });
}

}  // namespace starling::stream
