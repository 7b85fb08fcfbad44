// SPDX-License-Identifier: Apache-2.0
// A client of TLS that uses OpenSSL on a blocking socket. Its calls fail if nothing happens for
// `patience`.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

namespace starling::stream {

/// A connection without TLS on it.
class TcpClient {
 public:
  /// Connects. `receive_bytes` is the size of the system's buffer; 0: the system's choice.
  explicit TcpClient(const std::string& endpoint, int receive_bytes = 0);
  ~TcpClient();
  TcpClient(const TcpClient&) = delete;
  TcpClient& operator=(const TcpClient&) = delete;

  int handle() const { return handle_; }
  /// Returns false if the server has ended the connection.
  bool send_plain(std::string_view bytes) const;
  /// Returns all that the server sends until it ends the connection.
  std::string plain_to_end() const;
  /// Returns true if the server ends the connection, whatever it sends before.
  bool is_ended_by_server() const;
  /// Closes the connection. No more calls may follow.
  void cut();
  /// Closes the connection so that the server gets a reset.
  void reset();

 private:
  int handle_ = -1;
};

struct TlsTerms {
  int version_min = 0;  ///< lowest version of TLS; 0: the lowest that OpenSSL has
  int version_max = 0;
  std::string protocols{};  ///< protocols of ALPN, each after a byte with its length
  int receive_bytes = 0;
  SSL_SESSION* session = nullptr;  ///< the session to be resumed
};

class TlsClient : public TcpClient {
 public:
  explicit TlsClient(const std::string& endpoint, const TlsTerms& terms = {});

  /// Returns true if the handshake succeeds.
  bool shake_hands();
  /// Returns OpenSSL's text about why the last call has failed.
  const std::string& why() const { return why_; }

  bool send(std::string_view bytes);
  /// Waits for bytes and returns them. Returns an empty text at the end or after an error.
  std::string receive();
  /// Returns all bytes that come until the server ends TLS. is_clean() then returns how TLS has
  /// ended.
  std::string receive_to_end();
  /// Returns true if the end that was received was a close_notify.
  bool is_clean() const { return is_clean_; }
  /// Sends a request and returns its whole answer, after which the server ends the connection.
  std::string get(std::string_view target);
  /// Sends a close_notify: this side sends no more, but still reads.
  bool end_sending();

  std::string certificate_name() const;
  SSL* tls() { return tls_.get(); }

 private:
  bool succeeded(int result);

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_;
  std::string why_;
  bool is_clean_ = false;
};

/// Returns the text after the head of an answer.
std::string body_of(const std::string& answer);
/// Returns a request that makes the server end the connection after its answer.
std::string request_of(std::string_view target);

}  // namespace starling::stream
