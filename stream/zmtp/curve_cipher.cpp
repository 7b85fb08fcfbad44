// SPDX-License-Identifier: Apache-2.0
// A sealed frame: "\7MESSAGE", 8 bytes of number, 16 bytes of tag, and the encrypted flags and
// payload. See curve_cipher.hpp.
#include "starling/stream/zmtp/curve_cipher.hpp"

#include <cstring>

#include <sodium.h>

#include "starling/knn/base/assert.hpp"
#include "starling/stream/zmtp/curve_nonce.hpp"

namespace starling::stream::zmtp {

namespace {

constexpr std::string_view message_name = "\7MESSAGE";
constexpr std::string_view client_text = "CurveZMQMESSAGEC";
constexpr std::string_view server_text = "CurveZMQMESSAGES";
constexpr std::size_t number_at = 8;
constexpr std::size_t tag_at = 16;
constexpr std::size_t flags_at = 32;
constexpr std::uint8_t inner_more = 1;
constexpr std::uint8_t inner_command = 2;

}  // namespace

CurveCipher::~CurveCipher() {
  sodium_memzero(key_.data(), key_.size());
}

std::optional<FrameHead> CurveCipher::open(Body& body) {
  const std::span bytes = body.bytes();
  if (bytes.size() < payload_at ||
      std::memcmp(bytes.data(), message_name.data(), message_name.size()) != 0)
    return std::nullopt;
  const auto sent = bytes.subspan<number_at, 8>();
  const std::uint64_t number = number_in(sent);
  if (number <= peer_number_) return std::nullopt;
  std::byte* const text = bytes.data() + flags_at;
  const CurveNonce nonce = nonce_of(client_text, sent);
  if (crypto_box_open_detached_afternm(as_u8(text), as_u8(text), as_u8(bytes.data() + tag_at),
                                       bytes.size() - flags_at, nonce.data(), key_.data()) != 0)
    return std::nullopt;
  peer_number_ = number;
  const auto flags = std::to_integer<std::uint8_t>(*text);
  const FrameHead head{.more = (flags & inner_more) != 0,
                       .is_command = (flags & inner_command) != 0,
                       .bytes = bytes.size() - payload_at};
  if (head.more && head.is_command) return std::nullopt;
  body.skip(payload_at);
  return head;
}

void CurveCipher::seal(const FrameHead& head, std::span<const std::byte> payload,
                       std::vector<std::byte>& out) {
  check_invariant(own_number_ + 1 != 0, "a connection never sends 2^64 frames");
  std::array<std::byte, head_bytes_max> outer;
  const std::size_t outer_bytes =
      write_head({.bytes = payload_at + payload.size()}, std::span(outer));
  const std::size_t begin = out.size() + outer_bytes;
  out.resize(begin + payload_at + payload.size());
  std::memcpy(out.data() + begin - outer_bytes, outer.data(), outer_bytes);
  const std::span bytes = std::span(out).subspan(begin);
  std::memcpy(bytes.data(), message_name.data(), message_name.size());
  const auto sent = bytes.subspan<number_at, 8>();
  put_number(++own_number_, sent);
  std::byte* const text = bytes.data() + flags_at;
  *text =
      static_cast<std::byte>((head.more ? inner_more : 0) | (head.is_command ? inner_command : 0));
  if (!payload.empty()) std::memcpy(text + 1, payload.data(), payload.size());
  const CurveNonce nonce = nonce_of(server_text, sent);
  crypto_box_detached_afternm(as_u8(text), as_u8(bytes.data() + tag_at), as_u8(text),
                              1 + payload.size(), nonce.data(), key_.data());
}

}  // namespace starling::stream::zmtp
