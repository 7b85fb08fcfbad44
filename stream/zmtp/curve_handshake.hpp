// SPDX-License-Identifier: Apache-2.0
// The server's side of a CURVE handshake (RFC 26): HELLO, WELCOME, INITIATE, READY. Session owns a
// CurveHandshake until the handshake is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "starling/stream/zmtp/authentication.hpp"
#include "starling/stream/zmtp/curve_cipher.hpp"
#include "starling/stream/zmtp/fault.hpp"

namespace starling::stream::zmtp {

class CurveHandshake {
 public:
  using Key = CurveCipher::Key;

  /// `authentication` must outlive the handshake.
  explicit CurveHandshake(const Authentication& authentication) : keys_(authentication) {}
  ~CurveHandshake();
  CurveHandshake(const CurveHandshake&) = delete;
  CurveHandshake& operator=(const CurveHandshake&) = delete;

  /// The outcome of one command of the peer.
  struct Step {
    std::optional<Fault> fault;
    std::vector<std::byte> answer{};  ///< WELCOME; empty after INITIATE: call ready()
  };
  Step take(std::span<const std::byte> body);

  // Use metadata(), principal(), ready() and cipher() only if is_initiated(): INITIATE has come,
  // and had no fault.
  bool is_initiated() const { return is_initiated_; }
  std::span<const std::byte> metadata() const { return metadata_; }
  PrincipalId principal() const { return principal_; }
  /// Returns the command READY with the server's metadata.
  std::vector<std::byte> ready(std::span<const std::byte> metadata);
  std::unique_ptr<CurveCipher> cipher() const;

 private:
  Step take_hello(std::span<const std::byte> body);
  Step take_initiate(std::span<const std::byte> body);
  std::vector<std::byte> welcome();
  bool is_own_cookie(std::span<const std::byte> cookie) const;

  const Authentication& keys_;
  bool is_greeted_ = false;  ///< HELLO has come
  bool is_initiated_ = false;
  Key client_short_{};  ///< the client's public key of this connection
  Key own_short_{};     ///< the server's public key of this connection
  Key own_secret_{};    ///< the secret key of own_short_
  Key cookie_key_{};    ///< key that encrypts this connection's cookie
  Key shared_{};        ///< secret from the two keys of this connection
  std::uint64_t peer_number_ = 0;
  std::uint64_t own_number_ = 0;
  std::vector<std::byte> metadata_;
  PrincipalId principal_ = PrincipalId::anonymous;
};

}  // namespace starling::stream::zmtp
