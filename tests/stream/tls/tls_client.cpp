// SPDX-License-Identifier: Apache-2.0
// Connects, and calls OpenSSL: see tls_client.hpp.
#include "tests/stream/tls/tls_client.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

TcpClient::TcpClient(const std::string& endpoint, int receive_bytes) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  const std::size_t colon = endpoint.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1))));
  inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &address.sin_addr);
  handle_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_bytes > 0)
    setsockopt(handle_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  const timeval wait{.tv_sec = patience.count(), .tv_usec = 0};
  setsockopt(handle_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  setsockopt(handle_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
  const int at_once = 1;
  setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  if (connect(handle_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw std::runtime_error("cannot connect to " + endpoint);
}

TcpClient::~TcpClient() {
  cut();
}

void TcpClient::cut() {
  if (handle_ >= 0) close(handle_);
  handle_ = -1;
}

void TcpClient::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(handle_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  cut();
}

bool TcpClient::send_plain(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(handle_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string TcpClient::plain_to_end() const {
  std::string all;
  std::array<char, 4096> part{};
  for (ssize_t count = 1; count > 0;) {
    count = recv(handle_, part.data(), part.size(), 0);
    if (count > 0) all.append(part.data(), static_cast<std::size_t>(count));
  }
  return all;
}

bool TcpClient::is_ended_by_server() const {
  std::array<char, 4096> part{};
  ssize_t count = 1;
  while (count > 0) count = recv(handle_, part.data(), part.size(), 0);
  return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

TlsClient::TlsClient(const std::string& endpoint, const TlsTerms& terms)
    : TcpClient(endpoint, terms.receive_bytes),
      context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
      tls_(nullptr, SSL_free) {
  // OpenSSL offers old versions of TLS only at this level of security.
  SSL_CTX_set_security_level(context_.get(), 0);
  SSL_CTX_set_min_proto_version(context_.get(), terms.version_min);
  SSL_CTX_set_max_proto_version(context_.get(), terms.version_max);
  SSL_CTX_set_session_cache_mode(context_.get(), SSL_SESS_CACHE_CLIENT);
  tls_.reset(SSL_new(context_.get()));
  if (!terms.protocols.empty())
    SSL_set_alpn_protos(tls_.get(), reinterpret_cast<const unsigned char*>(terms.protocols.data()),
                        static_cast<unsigned>(terms.protocols.size()));
  if (terms.session != nullptr) SSL_set_session(tls_.get(), terms.session);
  SSL_set_fd(tls_.get(), handle());
}

bool TlsClient::succeeded(int result) {
  if (result > 0) return true;
  const int error = SSL_get_error(tls_.get(), result);
  const unsigned long reason = ERR_peek_error();
  const char* const text = ERR_reason_error_string(reason);
  is_clean_ = error == SSL_ERROR_ZERO_RETURN;
  why_ = is_clean_ ? "close_notify" : text == nullptr ? "the connection has ended" : text;
  ERR_clear_error();
  return false;
}

bool TlsClient::shake_hands() {
  ERR_clear_error();
  return succeeded(SSL_connect(tls_.get()));
}

bool TlsClient::send(std::string_view bytes) {
  ERR_clear_error();
  return bytes.empty() ||
         succeeded(SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())));
}

std::string TlsClient::receive() {
  std::string part(16384, '\0');
  ERR_clear_error();
  const int count = SSL_read(tls_.get(), part.data(), static_cast<int>(part.size()));
  part.resize(succeeded(count) ? static_cast<std::size_t>(count) : 0);
  return part;
}

std::string TlsClient::receive_to_end() {
  std::string all;
  for (std::string part = receive(); !part.empty(); part = receive()) all += part;
  return all;
}

std::string TlsClient::get(std::string_view target) {
  return send(request_of(target)) ? receive_to_end() : std::string();
}

bool TlsClient::end_sending() {
  ERR_clear_error();
  return SSL_shutdown(tls_.get()) >= 0;
}

std::string TlsClient::certificate_name() const {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      SSL_get1_peer_certificate(tls_.get()), X509_free);
  if (certificate == nullptr) return {};
  std::array<char, 128> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  return name.data();
}

std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : answer.substr(end + 4);
}

std::string request_of(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

}  // namespace starling::stream
