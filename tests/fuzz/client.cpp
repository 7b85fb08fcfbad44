// SPDX-License-Identifier: Apache-2.0
// Fuzzes the state of a client's session with replies. The input is a sequence of frames; three
// bytes come before each: what the client does first, and two for the length.
#include <algorithm>
#include <deque>
#include <variant>

#include "starling/knn/base/assert.hpp"
#include "starling/protocol/client/client_session.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/protocol/wire/samples.hpp"

namespace starling::fuzz {
namespace {

using namespace protocol;

constexpr std::uint64_t ids[] = {1, 2, 3};
constexpr std::int64_t times_us[] = {4, 5, 6};

enum Act : std::uint8_t { send_batch, send_question, send_tick, say_hello, wait, act_count };

std::string framed(Act act, const Frame& frame) {
  const std::size_t size = frame.size();
  return std::string{static_cast<char>(act), static_cast<char>(size & 255),
                     static_cast<char>(size >> 8)} +
         string_of(frame.bytes());
}

/// A session and its unanswered requests, as Client has them without sockets.
class Sequence {
 public:
  Sequence() { session_.on_hello({.session = 7, .epoch = 1}); }

  void act(std::uint8_t act) {
    switch (act % act_count) {
      case send_batch:
        return send(RemoveObjects{ids, times_us});
      case send_question:
        return send(GetStats{});
      case send_tick:
        return send(AdvanceTick{7});
      case say_hello:
        session_.hello();
        return;
      default:
        return;
    }
  }

  void take(std::string_view bytes) {
    const std::vector<char> own(bytes.begin(), bytes.end());
    const AlignedBytes frame(std::as_bytes(std::span(own)));
    const DecodedReply reply = decode_reply(frame);
    if (const auto* hello = std::get_if<HelloReply>(&reply.body); hello && !reply.problem)
      session_.on_hello(*hello);
    const Outgoing* const asked = session_.find(reply.head.request_id);
    if (asked != nullptr && !reply.problem) ClientSession::misfit(*asked, reply.body);
    const auto* error = std::get_if<ErrorReply>(&reply.body);
    session_.on_reply(reply.head, error == nullptr ? ErrorCode::none : error->problem.code);
  }

  void expect_consistent() const {
    const std::deque<Outgoing>& unanswered = session_.unanswered();
    check_invariant(std::ranges::is_sorted(unanswered, {}, &Outgoing::request_id),
                    "unanswered requests are sorted by their ids");
    check_invariant(session_.server().limits.credit_bytes <= std::uint64_t{1} << 30,
                    "a client has a ceiling");
    Outgoing none;
    check_invariant(!unanswered.empty() || session_.has_credit_for(none),
                    "a client that waits for nothing may send");
  }

 private:
  void send(const RequestBody& body) {
    auto prepared = session_.prepare(body);
    auto* outgoing = std::get_if<Outgoing>(&prepared);
    if (outgoing != nullptr && session_.has_credit_for(*outgoing))
      session_.admit(std::move(*outgoing));
  }

  ClientSession session_{"fuzz"};
};

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const auto& sample : protocol::test::sample_reply_frames())
    if (sample.bytes.size() < 65'536)
      all.push_back(std::string{send_batch, static_cast<char>(sample.bytes.size() & 255),
                                static_cast<char>(sample.bytes.size() >> 8)} +
                    string_of(sample.bytes));
  all.push_back(framed(send_batch, encode_batch_reply({1, 1}, {.accepted = 3})) +
                framed(send_question, encode_stats({2, 0}, {{{"ticks", 1}}})) +
                framed(send_tick, encode_error({3, 2}, {{ErrorCode::busy, "Later."}, 2})) +
                framed(say_hello, encode_hello_reply({}, {.session = 8, .epoch = 2})));
  return all;
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling::fuzz;
  std::string_view rest = text_of(data, size);
  Sequence sequence;
  while (rest.size() > 3) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(rest[at]); };
    sequence.act(byte(0));
    const std::size_t length =
        std::min<std::size_t>(byte(1) + std::size_t{byte(2)} * 256, rest.size() - 3);
    sequence.take(rest.substr(3, length));
    sequence.expect_consistent();
    rest.remove_prefix(3 + length);
  }
  return 0;
}
