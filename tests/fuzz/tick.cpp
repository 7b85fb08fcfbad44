// SPDX-License-Identifier: Apache-2.0
// Fuzzes a subscription with tick messages and snapshot pages. The input is a sequence of frames.
// Three bytes come before each frame: one for its kind and two for its length.
#include <algorithm>

#include "starling/protocol/client/subscription.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/protocol/wire/samples.hpp"

namespace starling::fuzz {
namespace {

using namespace protocol;

enum Kind : std::uint8_t { tick_part, tick_end, page, kind_count };

std::string framed(Kind kind, const Frame& frame) {
  const std::size_t size = frame.size();
  return std::string{static_cast<char>(kind), static_cast<char>(size & 255),
                     static_cast<char>(size >> 8)} +
         string_of(frame.bytes());
}

template <class Lists = test::SampleLists>
std::string tick_seed(std::uint64_t sequence) {
  const Lists lists;
  const TickMessage message =
      encode_tick("riders", {.epoch = 1, .sequence = sequence}, lists.source());
  return framed(tick_part, message.header) + framed(tick_end, message.chunks.front());
}

template <class Lists = test::SampleLists>
std::string page_seed() {
  const Lists lists;
  return framed(page,
                encode_snapshot_page({41, 42}, {.stream = "riders", .epoch = 1, .sequence = 4},
                                     lists.source()));
}

/// Passes a server's frames to a subscription, one by one.
class Feed {
 public:
  void take(std::uint8_t kind, std::string_view bytes) {
    // Each frame has an allocation of its own, so that a sanitizer reports any read beyond its end.
    const auto owner = std::make_shared<const std::vector<char>>(bytes.begin(), bytes.end());
    const auto view = std::as_bytes(std::span(*owner));
    if (kind % kind_count == page) {
      const AlignedBytes frame(view);
      const DecodedReply reply = decode_reply(frame);
      if (const auto* found = std::get_if<SnapshotPage>(&reply.body); found && !reply.problem)
        state_.on_page(*found);
      return;
    }
    owners_.push_back(owner);
    frames_.emplace_back(view);
    if (kind % kind_count != tick_end) return;
    state_.on_tick(
        receive_tick(std::move(frames_), std::make_shared<decltype(owners_)>(std::move(owners_))));
    frames_.clear();
    owners_.clear();
  }

  void expect_consistent() const {
    state_.wanted_page();
    state_.report();
    check_invariant(!state_.is_live() || state_.held_at(), "a live subscription holds a tick");
  }

 private:
  SubscriptionState state_{{.stream = "riders"}};
  std::vector<AlignedBytes> frames_;
  std::vector<std::shared_ptr<const std::vector<char>>> owners_;
};

}  // namespace

std::vector<std::string> seeds() {
  return {tick_seed(1), page_seed(), page_seed() + tick_seed(5) + tick_seed(7),
          tick_seed(4) + tick_seed(5) + page_seed() + tick_seed(6),
          page_seed<test::SampleVectorLists>() + tick_seed<test::SampleVectorLists>(5)};
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling::fuzz;
  std::string_view rest = text_of(data, size);
  Feed feed;
  while (rest.size() > 3) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(rest[at]); };
    const std::uint8_t kind = byte(0);
    const std::size_t length =
        std::min<std::size_t>(byte(1) + std::size_t{byte(2)} * 256, rest.size() - 3);
    feed.take(kind, rest.substr(3, length));
    feed.expect_consistent();
    rest.remove_prefix(3 + length);
  }
  return 0;
}
