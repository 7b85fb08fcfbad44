// SPDX-License-Identifier: Apache-2.0
// RFC 26, sections HELLO, WELCOME, INITIATE and READY. Boxes are opened and compared by libsodium
// in constant time. All sizes are checked before a box is opened. See curve_handshake.hpp.
#include "starling/stream/zmtp/curve_handshake.hpp"

#include <algorithm>
#include <cstring>

#include <sodium.h>

#include "starling/knn/base/assert.hpp"
#include "starling/stream/zmtp/curve_nonce.hpp"

namespace starling::stream::zmtp {

namespace {

constexpr std::size_t key_bytes = 32;
constexpr std::size_t tag_bytes = 16;
constexpr std::string_view hello_name = "\5HELLO";
constexpr std::string_view welcome_name = "\7WELCOME";
constexpr std::string_view initiate_name = "\10INITIATE";
constexpr std::string_view ready_name = "\5READY";

// HELLO: name, version, zeros, key, number, box of 64 zeros.
constexpr std::size_t hello_key_at = 6 + 2 + 72;
constexpr std::size_t hello_number_at = hello_key_at + key_bytes;
constexpr std::size_t hello_box_at = hello_number_at + 8;
constexpr std::size_t hello_zeros = 64;
constexpr std::size_t hello_bytes = hello_box_at + tag_bytes + hello_zeros;

constexpr std::size_t random_bytes = 16;  // random bytes of a long nonce
constexpr std::size_t cookie_text_bytes = 2 * key_bytes;
constexpr std::size_t cookie_bytes = random_bytes + tag_bytes + cookie_text_bytes;

// INITIATE: name, cookie, number, box of the client's key, the vouch and metadata.
constexpr std::size_t initiate_number_at = 9 + cookie_bytes;
constexpr std::size_t initiate_box_at = initiate_number_at + 8;
constexpr std::size_t vouch_box_bytes = tag_bytes + 2 * key_bytes;
constexpr std::size_t vouch_bytes = random_bytes + vouch_box_bytes;
constexpr std::size_t initiate_text_min = key_bytes + vouch_bytes;
constexpr std::size_t initiate_bytes_min = initiate_box_at + tag_bytes + initiate_text_min;

bool begins_with(std::span<const std::byte> body, std::string_view name) {
  return body.size() >= name.size() && std::memcmp(body.data(), name.data(), name.size()) == 0;
}

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
void append(std::vector<std::byte>& out, std::string_view text) {
  append(out, std::as_bytes(std::span(text.data(), text.size())));
}
void append(std::vector<std::byte>& out, const CurveCipher::Key& key) {
  append(out, std::as_bytes(std::span(key)));
}

std::array<std::byte, random_bytes> random_nonce() {
  std::array<std::byte, random_bytes> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

}  // namespace

CurveHandshake::~CurveHandshake() {
  for (Key* const key : {&own_secret_, &cookie_key_, &shared_})
    sodium_memzero(key->data(), key->size());
}

CurveHandshake::Step CurveHandshake::take(std::span<const std::byte> body) {
  if (is_initiated_) return {Fault::handshake};
  return is_greeted_ ? take_initiate(body) : take_hello(body);
}

CurveHandshake::Step CurveHandshake::take_hello(std::span<const std::byte> body) {
  if (body.size() != hello_bytes || !begins_with(body, hello_name)) return {Fault::handshake};
  if (body[6] != std::byte{1} || body[7] != std::byte{0}) return {Fault::handshake};
  std::memcpy(client_short_.data(), body.data() + hello_key_at, key_bytes);
  const auto sent = body.subspan<hello_number_at, 8>();
  peer_number_ = number_in(sent);
  const CurveNonce nonce = nonce_of("CurveZMQHELLO---", sent);
  std::array<std::uint8_t, hello_zeros> zeros{};
  if (crypto_box_open_easy(zeros.data(), as_u8(body.data() + hello_box_at), tag_bytes + hello_zeros,
                           nonce.data(), client_short_.data(), keys_.server_secret.data()) != 0 ||
      sodium_is_zero(zeros.data(), zeros.size()) == 0)
    return {Fault::handshake};
  crypto_box_keypair(own_short_.data(), own_secret_.data());
  if (crypto_box_beforenm(shared_.data(), client_short_.data(), own_secret_.data()) != 0)
    return {Fault::handshake};
  is_greeted_ = true;
  return {std::nullopt, welcome()};
}

// WELCOME has the server's public key of this connection, and a cookie. The cookie has the client's
// public key and the server's secret key of this connection. The client returns it with INITIATE.
std::vector<std::byte> CurveHandshake::welcome() {
  randombytes_buf(cookie_key_.data(), cookie_key_.size());
  std::vector<std::byte> secrets;
  append(secrets, client_short_);
  append(secrets, own_secret_);
  const auto cookie_random = random_nonce();
  const CurveNonce cookie_nonce = nonce_of("COOKIE--", cookie_random);
  std::vector<std::byte> text;
  append(text, own_short_);
  append(text, cookie_random);
  text.resize(text.size() + tag_bytes + cookie_text_bytes);
  crypto_secretbox_easy(as_u8(text.data() + key_bytes + random_bytes), as_u8(secrets.data()),
                        secrets.size(), cookie_nonce.data(), cookie_key_.data());
  sodium_memzero(secrets.data(), secrets.size());
  const auto random = random_nonce();
  const CurveNonce nonce = nonce_of("WELCOME-", random);
  std::vector<std::byte> answer;
  append(answer, welcome_name);
  append(answer, random);
  const std::size_t box_at = answer.size();
  answer.resize(box_at + tag_bytes + text.size());
  const int sealed =
      crypto_box_easy(as_u8(answer.data() + box_at), as_u8(text.data()), text.size(), nonce.data(),
                      client_short_.data(), keys_.server_secret.data());
  check_invariant(sealed == 0, "the client's key has opened its HELLO");
  return answer;
}

bool CurveHandshake::is_own_cookie(std::span<const std::byte> cookie) const {
  const CurveNonce nonce = nonce_of("COOKIE--", cookie.first(random_bytes));
  std::array<std::uint8_t, cookie_text_bytes> text{};
  const bool is_own = crypto_secretbox_open_easy(text.data(), as_u8(cookie.data() + random_bytes),
                                                 cookie.size() - random_bytes, nonce.data(),
                                                 cookie_key_.data()) == 0 &&
                      sodium_memcmp(text.data(), client_short_.data(), key_bytes) == 0 &&
                      sodium_memcmp(text.data() + key_bytes, own_secret_.data(), key_bytes) == 0;
  sodium_memzero(text.data(), text.size());
  return is_own;
}

CurveHandshake::Step CurveHandshake::take_initiate(std::span<const std::byte> body) {
  if (body.size() < initiate_bytes_min || !begins_with(body, initiate_name))
    return {Fault::handshake};
  if (!is_own_cookie(body.subspan(initiate_name.size(), cookie_bytes))) return {Fault::handshake};
  const auto sent = body.subspan<initiate_number_at, 8>();
  const std::uint64_t number = number_in(sent);
  if (number <= peer_number_) return {Fault::handshake};
  const std::span box = body.subspan(initiate_box_at);
  std::vector<std::byte> text(box.size() - tag_bytes);
  const CurveNonce nonce = nonce_of("CurveZMQINITIATE", sent);
  if (crypto_box_open_easy_afternm(as_u8(text.data()), as_u8(box.data()), box.size(), nonce.data(),
                                   shared_.data()) != 0)
    return {Fault::handshake};
  peer_number_ = number;
  // The vouch proves that the client has the secret of the long-term key that it names: it is boxed
  // with this secret for the server's key of this connection. In the box are the client's key of
  // this connection and the server's long-term key.
  PublicKey client{};
  std::memcpy(client.data(), text.data(), key_bytes);
  const std::span vouch = std::span(text).subspan(key_bytes, vouch_bytes);
  const CurveNonce vouch_nonce = nonce_of("VOUCH---", vouch.first(random_bytes));
  std::array<std::uint8_t, 2 * key_bytes> vouched{};
  if (crypto_box_open_easy(vouched.data(), as_u8(vouch.data() + random_bytes), vouch_box_bytes,
                           vouch_nonce.data(), client.data(), own_secret_.data()) != 0 ||
      sodium_memcmp(vouched.data(), client_short_.data(), key_bytes) != 0 ||
      sodium_memcmp(vouched.data() + key_bytes, keys_.server_public.data(), key_bytes) != 0)
    return {Fault::key};
  const auto principal = keys_.admit(client);
  if (!principal) return {Fault::key};
  principal_ = *principal;
  metadata_.assign(text.begin() + initiate_text_min, text.end());
  is_initiated_ = true;
  return {std::nullopt};
}

std::vector<std::byte> CurveHandshake::ready(std::span<const std::byte> metadata) {
  std::vector<std::byte> answer;
  append(answer, ready_name);
  std::array<std::byte, 8> sent{};
  put_number(++own_number_, sent);
  append(answer, sent);
  const std::size_t box_at = answer.size();
  answer.resize(box_at + tag_bytes + metadata.size());
  const CurveNonce nonce = nonce_of("CurveZMQREADY---", sent);
  crypto_box_easy_afternm(as_u8(answer.data() + box_at), as_u8(metadata.data()), metadata.size(),
                          nonce.data(), shared_.data());
  return answer;
}

std::unique_ptr<CurveCipher> CurveHandshake::cipher() const {
  return std::make_unique<CurveCipher>(shared_, peer_number_, own_number_);
}

}  // namespace starling::stream::zmtp
