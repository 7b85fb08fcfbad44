// SPDX-License-Identifier: Apache-2.0
// Tests that decoding damaged bytes returns a value or a problem and never reads outside the frame.
// Frames are cut at every length, have any one bit flipped, or consist of random bytes. Builds with
// a sanitizer detect reads outside the frame.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "tests/protocol/wire/samples.hpp"
#include "tests/support/random.hpp"

namespace starling::protocol {
namespace {

using Bytes = std::vector<std::byte>;

/// Decodes a frame and reads everything in it. `bytes` is exactly as long as the frame, so that a
/// sanitizer reports a read beyond the end.
DecodedRequest decode_as_request(const Bytes& bytes, const Limits& limits) {
  const AlignedBytes frame(bytes);
  DecodedRequest decoded = decode_request(frame, limits);
  // Encoding reads everything that the decoded request points to.
  if (!decoded.problem) encode_request(decoded.head, decoded.body);
  decoded.body = {};
  return decoded;
}

std::optional<Problem> decode_as_reply(const Bytes& bytes) {
  const AlignedBytes frame(bytes);
  const DecodedReply decoded = decode_reply(frame);
  const ListChunk* lists = nullptr;
  if (const auto* page = std::get_if<SnapshotPage>(&decoded.body)) lists = &page->lists;
  if (const auto* answer = std::get_if<Neighbors>(&decoded.body)) lists = &answer->lists;
  if (const auto* names = std::get_if<Names>(&decoded.body)) encode_names(decoded.head, *names);
  if (const auto* page = std::get_if<Streams>(&decoded.body)) encode_streams(decoded.head, *page);
  if (const auto* page = std::get_if<Queries>(&decoded.body)) encode_queries(decoded.head, *page);
  if (const auto* page = std::get_if<Objects>(&decoded.body)) encode_objects(decoded.head, *page);
  if (!decoded.problem && lists != nullptr)
    for (std::size_t list = 0; list < lists->list_count(); ++list) list_of(*lists, list);
  return decoded.problem;
}

std::optional<Problem> decode_as_tick(const Bytes& header, const Bytes& chunk) {
  std::vector<AlignedBytes> frames;
  frames.emplace_back(header);
  frames.emplace_back(chunk);
  const DecodedTick decoded = decode_tick(frames);
  if (!decoded.problem)
    for (std::size_t list = 0; list < decoded.chunks[0].list_count(); ++list)
      list_of(decoded.chunks[0], list);
  return decoded.problem;
}

template <class Visit>
void with_every_bit_flipped(const Bytes& bytes, const Visit& visit) {
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes flipped = bytes;
      flipped[at] ^= static_cast<std::byte>(1 << bit);
      visit(flipped);
    }
}

bool is_documented(const std::optional<Problem>& problem) {
  return !problem || (problem->code != ErrorCode::none && problem->code <= last_error_code &&
                      problem->sentence.ends_with('.'));
}

TEST(Corruption, ATruncatedRequestIsMalformed) {
  for (const auto& sample : test::sample_request_frames())
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      const Bytes shorter(sample.bytes.begin(),
                          sample.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const auto decoded = decode_as_request(shorter, sample.limits);
      // The last bytes of a FlatBuffer may be padding. A request that lacks only padding is valid.
      if (!decoded.problem) {
        EXPECT_GE(size + 8, sample.bytes.size()) << sample.name;
        continue;
      }
      EXPECT_TRUE(is_documented(decoded.problem)) << sample.name << " cut to " << size;
    }
}

TEST(Corruption, ARequestWithAnyBitFlippedIsReadOrRefused) {
  for (const auto& sample : test::sample_request_frames())
    with_every_bit_flipped(sample.bytes, [&](const Bytes& flipped) {
      EXPECT_TRUE(is_documented(decode_as_request(flipped, sample.limits).problem)) << sample.name;
    });
}

TEST(Corruption, AReplyWithAnyBitFlippedOrCutShortIsReadOrRefused) {
  for (const auto& sample : test::sample_reply_frames()) {
    with_every_bit_flipped(sample.bytes, [&](const Bytes& flipped) {
      EXPECT_TRUE(is_documented(decode_as_reply(flipped))) << sample.name;
    });
    for (std::size_t size = 0; size < sample.bytes.size(); ++size)
      EXPECT_TRUE(is_documented(decode_as_reply(
          Bytes(sample.bytes.begin(), sample.bytes.begin() + static_cast<std::ptrdiff_t>(size)))));
  }
}

void expect_read_or_refused_where_damaged(const ListSource& lists) {
  const TickMessage message = encode_tick("riders", {.sequence = 1}, lists);
  const Bytes header = test::copy_of(message.header);
  const Bytes chunk = test::copy_of(message.chunks.front());
  ASSERT_FALSE(decode_as_tick(header, chunk));
  with_every_bit_flipped(header, [&](const Bytes& flipped) {
    EXPECT_TRUE(is_documented(decode_as_tick(flipped, chunk)));
  });
  with_every_bit_flipped(chunk, [&](const Bytes& flipped) {
    EXPECT_TRUE(is_documented(decode_as_tick(header, flipped)));
  });
  for (std::size_t size = 0; size < chunk.size(); ++size)
    EXPECT_TRUE(is_documented(decode_as_tick(
        header, Bytes(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(size)))));
}

TEST(Corruption, ATickWithAnyBitFlippedOrCutShortIsReadOrRefused) {
  const test::SampleLists lists;
  expect_read_or_refused_where_damaged(lists.source());
  const test::SampleVectorLists vector_lists;
  expect_read_or_refused_where_damaged(vector_lists.source());
}

// FlatBuffers' verifier accepts an array of 8-byte numbers whose address is not a multiple of 8.
// This test makes such an array: it moves the array of ids by 4 bytes and removes one id, so that
// the array still ends inside the frame.
TEST(Corruption, AnArrayThatIsNotAlignedIsRefused) {
  const std::uint64_t ids[] = {0x1111111111111111, 0x2222222222222222};
  Bytes bytes = test::copy_of(encode_request({1, 2, 3}, RemoveQueries{"riders", ids}));
  const auto refusal = [&] {
    const AlignedBytes frame(bytes);
    return decode_request(frame, Limits{}).problem;
  };
  ASSERT_FALSE(refusal());
  const auto word_at = [&](std::size_t at) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    return word;
  };
  // Find the vector of ids: first its length, which is 2, then the low 32 bits of the first id.
  // Then find the offset that points to the vector.
  std::size_t vector = 0;
  while (word_at(vector) != 2 || word_at(vector + 4) != 0x11111111) vector += 4;
  std::size_t offset = 0;
  while (offset + word_at(offset) != vector) offset += 4;
  const std::uint32_t later = word_at(offset) + 4;
  const std::uint32_t one = 1;
  std::memcpy(bytes.data() + offset, &later, sizeof(later));
  std::memcpy(bytes.data() + vector + 4, &one, sizeof(one));
  const auto problem = refusal();
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, ErrorCode::malformed);
  EXPECT_NE(problem->sentence.find("multiple of 8"), std::string::npos) << problem->sentence;
}

TEST(Corruption, RandomBytesAndRandomDamageAreReadOrRefused) {
  const auto samples = test::sample_request_frames();
  for (const std::uint64_t seed : starling::test::seeds(200)) {
    SCOPED_TRACE(starling::test::replay_hint(seed));
    starling::test::Random random(seed);
    Bytes noise(random.below(300));
    for (std::byte& each : noise) each = static_cast<std::byte>(random.next());
    EXPECT_TRUE(decode_as_request(noise, {}).problem);
    const auto& sample = random.pick(samples);
    Bytes damaged = sample.bytes;
    for (int change = 0; change < 4; ++change)
      damaged[random.below(damaged.size())] = static_cast<std::byte>(random.next());
    EXPECT_TRUE(is_documented(decode_as_request(damaged, sample.limits).problem));
    EXPECT_TRUE(is_documented(decode_as_reply(damaged)));
  }
}

}  // namespace
}  // namespace starling::protocol
