// SPDX-License-Identifier: Apache-2.0
// Fuzzes the server with the bytes of a ZeroMQ peer: greeting, handshake (NULL and CURVE) and
// frames. The first byte of an input chooses the endpoint and the mechanism. The second byte
// chooses how the rest is cut into pieces. The pieces must have the same effect as the whole.
#include <algorithm>

#include <sodium.h>

#include "starling/stream/zmtp/command.hpp"
#include "starling/stream/zmtp/session.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/fuzz/zmtp_bytes.hpp"

namespace starling::fuzz {

namespace zmtp = stream::zmtp;

namespace {

constexpr std::size_t message_bytes_max = 1 << 16;

struct Notes final : zmtp::SessionSink {
  void answer(std::shared_ptr<const zmtp::WireMessage> message) override {
    sent += message->bytes();
  }
  bool take_room(std::size_t bytes) override {
    room += bytes;
    check_invariant(room <= message_bytes_max + zmtp::CurveCipher::payload_at,
                    "no more memory is taken than one request may have");
    return true;
  }
  void return_room(std::size_t bytes) override { room -= bytes; }
  void established() override { text += "!"; }
  void take_message(zmtp::Message message) override {
    room = 0;
    for (std::size_t part = 0; part < message.count; ++part)
      text += std::string(zmtp::as_text(message.parts[part].bytes())) + ",";
  }
  void take_subscription(bool joins, std::string_view topic) override {
    check_invariant(topic.size() <= zmtp::topic_bytes_max, "topics are short");
    text += (joins ? "+" : "-") + std::string(topic);
  }

  std::size_t sent = 0;
  std::size_t room = 0;
  std::string text;
};

const zmtp::Authentication& keys() {
  static const zmtp::Authentication made = [] {
    zmtp::Authentication keys;
    check_invariant(sodium_init() >= 0, "the system has random numbers");
    crypto_box_keypair(keys.server_public.data(), keys.server_secret.data());
    keys.admit = [](const zmtp::PublicKey&) { return zmtp::PrincipalId{1}; };
    return keys;
  }();
  return made;
}

std::string ready(const std::string& type) {
  return long_frame(
      4, "\5READY\13Socket-Type" + std::string(3, '\0') + static_cast<char>(type.size()) + type);
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string ping = long_frame(4, std::string("\4PING\0\0abc", 10));
  return {"rx" + greeting("NULL") + ready("DEALER") + long_frame(1, "") + long_frame(0, "body") +
              ping + std::string("\0\3abc", 5),
          "sx" + greeting("NULL") + ready("SUB") + long_frame(4, "\11SUBSCRIBEtopic") + ping +
              long_frame(0, "\1topic") + long_frame(4, "\6CANCELtopic"),
          "vx" + greeting("CURVE") +
              long_frame(4, std::string("\5HELLO\1\0", 8) + std::string(192, '\0'))};
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling::fuzz;
  if (size < 2) return 0;
  zmtp::SessionOptions options{
      .role = (data[0] & 1) == 0 ? zmtp::Role::router : zmtp::Role::publisher,
      .message_bytes_max = message_bytes_max};
  if ((data[0] & 4) != 0) options.authentication = &keys();
  const auto bytes = bytes_of(text_of(data + 2, size - 2));
  Notes whole;
  zmtp::Session session(options, whole);
  session.feed(bytes);
  Notes pieces;
  zmtp::Session other(options, pieces);
  const std::size_t step = 1 + data[1] % 64u;
  for (std::size_t at = 0; at < bytes.size() && !other.fault(); at += step)
    other.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
  starling::check_invariant(whole.text == pieces.text && session.fault() == other.fault(),
                            "cut bytes mean the same");
  if (!bytes.empty()) {
    const zmtp::CurveCipher::Key key{};
    zmtp::CurveCipher cipher(key, 0, 0);
    zmtp::Body body(bytes.size(), zmtp::CurveCipher::payload_at);
    std::copy(bytes.begin(), bytes.end(), body.bytes().begin());
    cipher.open(body);
  }
  return 0;
}
