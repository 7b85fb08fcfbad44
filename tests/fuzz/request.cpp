// SPDX-License-Identifier: Apache-2.0
// Fuzzes the server's decoding of a request frame.
#include "starling/protocol/wire/request_codec.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/protocol/wire/samples.hpp"

namespace starling::fuzz {
namespace {

using namespace protocol;

template <class T>
void touch(std::span<const T> values) {
  [[maybe_unused]] volatile T last{};
  for (const T& value : values) last = value;
}

/// Reads each number in place, as the server does when it applies the request.
void touch_arrays(const RequestBody& body) {
  std::visit(
      [](const auto& request) {
        if constexpr (requires { request.ids; }) touch(request.ids);
        if constexpr (requires { request.times_us; }) touch(request.times_us);
        if constexpr (requires { request.coordinates; }) touch(request.coordinates);
        if constexpr (requires { request.labels; }) touch(request.labels);
        if constexpr (requires { request.values; }) touch(request.values);
        if constexpr (requires { request.query_ids; }) touch(request.query_ids);
        if constexpr (requires { request.object_ids; }) touch(request.object_ids);
      },
      body);
}

/// Checks that a decoded request stays the same when it is encoded and decoded again.
void expect_round_trip(const DecodedRequest& decoded, const Limits& limits) {
  const Frame written = encode_request(decoded.head, decoded.body);
  const AlignedBytes frame(written.bytes());
  const DecodedRequest again = decode_request(frame, limits);
  check_invariant(!again.problem, "what we write can be read");
  check_invariant(
      string_of(encode_request(again.head, again.body).bytes()) == string_of(written.bytes()),
      "a request is the same after a round trip");
}

}  // namespace

std::vector<std::string> seeds() {
  return strings_of(protocol::test::sample_request_frames());
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  const std::string received = shifted(data, size);
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84, Space::vector}) {
    const protocol::Limits limits =
        space == Space::vector ? protocol::test::vector_limits() : protocol::Limits{.space = space};
    const protocol::AlignedBytes frame(bytes_of(received).subspan(1));
    const auto decoded = protocol::decode_request(frame, limits);
    if (decoded.problem) {
      check_invariant(decoded.problem->sentence.ends_with('.'), "a refusal is a sentence");
      continue;
    }
    touch_arrays(decoded.body);
    expect_round_trip(decoded, limits);
  }
  return 0;
}
