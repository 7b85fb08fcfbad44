// SPDX-License-Identifier: Apache-2.0
// Fuzzes what a peer with a key may send. The target encrypts the metadata of a handshake and
// frames as CurveZMQ says (RFC 26), so that the input reaches the code after the decryption.
// Without encryption, the same metadata and frames must have the same effect. tests/fuzz/zmtp.cpp
// fuzzes the bytes of peers without a key.
//
// Input: a byte of flags, the length of the metadata and the metadata; then frames, each with a
// byte of flags, a length and that many bytes. If is_changed is set in the first byte, one bit of
// INITIATE is changed.
#include <algorithm>
#include <array>
#include <cstring>

#include <sodium.h>

#include "starling/stream/zmtp/session.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/fuzz/zmtp_bytes.hpp"

namespace starling::fuzz {
namespace {

namespace zmtp = stream::zmtp;

constexpr std::size_t message_bytes_max = 1 << 16;
constexpr std::uint8_t is_subscriber = 1;  // flags of an input
constexpr std::uint8_t is_changed = 2;
constexpr std::uint8_t has_more = 1;  // flags of a frame within a message of CURVE
constexpr std::uint8_t is_command = 2;

struct Pair {
  std::array<std::uint8_t, 32> open{};
  std::array<std::uint8_t, 32> secret{};
  Pair() {
    check_invariant(sodium_init() >= 0, "the system has random numbers");
    crypto_box_keypair(open.data(), secret.data());
  }
};

const Pair& server() {
  static const Pair pair;
  return pair;
}
const Pair& client() {
  static const Pair pair;
  return pair;
}
const Pair& of_connection() {
  static const Pair pair;
  return pair;
}

const zmtp::Authentication& keys() {
  static const zmtp::Authentication made = [] {
    zmtp::Authentication keys;
    keys.server_public = server().open;
    keys.server_secret = server().secret;
    keys.admit = [](const zmtp::PublicKey& key) {
      return key == client().open ? std::optional(zmtp::PrincipalId{1}) : std::nullopt;
    };
    return keys;
  }();
  return made;
}

std::string text(const std::array<std::uint8_t, 32>& key) {
  return {key.begin(), key.end()};
}

const std::uint8_t* bytes(const std::string& text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}
std::uint8_t* bytes(std::string& text) {
  return reinterpret_cast<std::uint8_t*>(text.data());
}

std::string sealed(const std::string& plain, const std::string& nonce,
                   const std::array<std::uint8_t, 32>& to,
                   const std::array<std::uint8_t, 32>& from) {
  std::string box(crypto_box_MACBYTES + plain.size(), '\0');
  const int failed =
      crypto_box_easy(bytes(box), bytes(plain), plain.size(), bytes(nonce), to.data(), from.data());
  check_invariant(failed == 0, "both keys are keys");
  return box;
}

struct Notes final : zmtp::SessionSink {
  void answer(std::shared_ptr<const zmtp::WireMessage> message) override {
    ++answers;
    last.clear();
    for (const iovec& piece : message->pieces())
      last.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  bool take_room(std::size_t bytes) override {
    check_invariant(bytes <= message_bytes_max + zmtp::CurveCipher::payload_at,
                    "no more memory is taken than one request may have");
    return true;
  }
  void return_room(std::size_t) override {}
  void established() override { said += "!"; }
  void take_message(zmtp::Message message) override {
    for (std::size_t part = 0; part < message.count; ++part)
      said += string_of(message.parts[part].bytes()) + ",";
    said += ";";
  }
  void take_subscription(bool joins, std::string_view topic) override {
    check_invariant(topic.size() <= zmtp::topic_bytes_max, "topics are short");
    said += (joins ? "+" : "-") + std::string(topic);
  }

  std::string last;  ///< the last answer
  std::string said;
  int answers = 0;
};

/// A connection of the client, with or without encryption.
class Talk {
 public:
  Talk(zmtp::Role role, bool encrypts)
      : encrypts_(encrypts), session_(options(role, encrypts), notes_) {
    feed(greeting(encrypts ? "CURVE" : "NULL"));
  }

  void shake_hands(const std::string& metadata, bool changes) {
    if (!encrypts_) return feed(long_frame(4, "\5READY" + metadata));
    const std::string zeros(64, '\0');
    std::string hello("\5HELLO\1\0", 8);
    hello += std::string(72, '\0') + text(of_connection().open) + number_text(1);
    hello +=
        sealed(zeros, "CurveZMQHELLO---" + number_text(1), server().open, of_connection().secret);
    feed(long_frame(4, hello));
    const std::string welcome = notes_.last;
    const std::size_t nonce_at = welcome.find("\7WELCOME") + 8;
    const std::string box = welcome.substr(nonce_at + 16);
    std::string plain(box.size() - crypto_box_MACBYTES, '\0');
    const std::string nonce = "WELCOME-" + welcome.substr(nonce_at, 16);
    check_invariant(crypto_box_open_easy(bytes(plain), bytes(box), box.size(), bytes(nonce),
                                         server().open.data(), of_connection().secret.data()) == 0,
                    "WELCOME is for the client");
    std::array<std::uint8_t, 32> server_short{};
    std::memcpy(server_short.data(), plain.data(), server_short.size());
    const std::string random(16, 'r');
    const std::string vouch = random + sealed(text(of_connection().open) + text(server().open),
                                              "VOUCH---" + random, server_short, client().secret);
    std::string initiate =
        "\10INITIATE" + plain.substr(32) + number_text(2) +
        sealed(text(client().open) + vouch + metadata, "CurveZMQINITIATE" + number_text(2),
               server_short, of_connection().secret);
    if (changes)
      initiate[initiate.size() / 2] = static_cast<char>(initiate[initiate.size() / 2] ^ 1);
    check_invariant(crypto_box_beforenm(shared_.data(), server_short.data(),
                                        of_connection().secret.data()) == 0,
                    "the server's key of the connection is a key");
    feed(long_frame(4, initiate));
  }

  void send(std::uint8_t flags, const std::string& payload) {
    if (!encrypts_) {
      const int outer = ((flags & has_more) != 0 ? 1 : 0) | ((flags & is_command) != 0 ? 4 : 0);
      return feed(long_frame(static_cast<std::uint8_t>(outer), payload));
    }
    const std::string plain = static_cast<char>(flags) + payload;
    const std::string sent = number_text(++number_);
    const std::string nonce = "CurveZMQMESSAGEC" + sent;
    std::string box(crypto_box_MACBYTES + plain.size(), '\0');
    crypto_box_easy_afternm(bytes(box), bytes(plain), plain.size(), bytes(nonce), shared_.data());
    feed(long_frame(0, "\7MESSAGE" + sent + box));
  }

  bool has_fault() const { return session_.fault().has_value(); }
  bool is_established() const { return session_.is_established(); }
  const Notes& notes() const { return notes_; }

 private:
  static zmtp::SessionOptions options(zmtp::Role role, bool encrypts) {
    return {.role = role,
            .message_bytes_max = message_bytes_max,
            .authentication = encrypts ? &keys() : nullptr};
  }
  void feed(const std::string& bytes) {
    if (!session_.fault()) session_.feed(bytes_of(bytes));
  }

  const bool encrypts_;
  Notes notes_;
  zmtp::Session session_;
  std::array<std::uint8_t, 32> shared_{};
  std::uint64_t number_ = 2;
};

std::string metadata(const std::string& type) {
  return "\13Socket-Type" + std::string(3, '\0') + static_cast<char>(type.size()) + type;
}

std::string with_length(const std::string& text) {
  return static_cast<char>(text.size()) + text;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string ping("\4PING\0\0abc", 10);
  const std::string none(1, '\0');
  return {none + with_length(metadata("DEALER")) + "\1" + none + none + with_length("body") + "\2" +
              with_length(ping),
          "\1" + with_length(metadata("SUB")) + "\2" + with_length("\11SUBSCRIBEtopic") + none +
              with_length("\1topic") + "\2" + with_length("\6CANCELtopic"),
          "\2" + with_length(metadata("REQ")), none + with_length(metadata("PUB"))};
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling;
  using namespace starling::fuzz;
  std::string_view input = text_of(data, size);
  const auto take = [&](std::size_t count) {
    const std::string taken(input.substr(0, count));
    input.remove_prefix(taken.size());
    return taken;
  };
  const auto take_byte = [&] {
    const std::string one = take(1);
    return static_cast<std::uint8_t>(one.empty() ? 0 : one[0]);
  };
  const std::uint8_t flags = take_byte();
  const std::string metadata = take(take_byte());
  const bool changes = (flags & is_changed) != 0;
  const auto role =
      (flags & is_subscriber) != 0 ? stream::zmtp::Role::publisher : stream::zmtp::Role::router;
  Talk encrypted(role, true);
  Talk plain(role, false);
  encrypted.shake_hands(metadata, changes);
  if (changes) {
    check_invariant(encrypted.has_fault(), "what was changed on the way is refused");
    return 0;
  }
  plain.shake_hands(metadata, false);
  check_invariant(encrypted.is_established() == plain.is_established(),
                  "the same metadata is accepted");
  while (!input.empty()) {
    const auto frame_flags = static_cast<std::uint8_t>(take_byte() & (has_more | is_command));
    const std::string payload = take(take_byte());
    encrypted.send(frame_flags, payload);
    plain.send(frame_flags, payload);
  }
  check_invariant(
      encrypted.notes().said == plain.notes().said && encrypted.has_fault() == plain.has_fault(),
      "encrypted frames mean the same");
  return 0;
}
