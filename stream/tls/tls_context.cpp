// SPDX-License-Identifier: Apache-2.0
// Passes the files' text to OpenSSL: see tls_context.hpp. A file is opened once, and the mode of
// the opened file is checked, so another file cannot take its place before the reading.
#include "starling/stream/tls/tls_context.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include "starling/knn/base/descriptor.hpp"

namespace starling::stream {

namespace {

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;
constexpr mode_t foreign_mode = S_IWGRP | S_IRWXO;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

[[noreturn]] void refuse(const char* flag, const std::string& path, const std::string& why) {
  ERR_clear_error();
  throw std::runtime_error(std::string(flag) + ": " + path + " " + why);
}

/// Returns the file's bytes. `forbidden` are bits that its mode must not have.
std::string text_of(const char* flag, const std::string& path, mode_t forbidden) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file.is_open() || fstat(file.number(), &found) != 0)
    refuse(flag, path, std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(found.st_mode) || static_cast<std::size_t>(found.st_size) > file_bytes_max)
    refuse(flag, path, "is no file in PEM; name the file that holds it");
  if ((found.st_mode & forbidden) != 0)
    refuse(flag, path,
           "may be read or changed by others than its owner; run chmod 600 on it (640 lets its "
           "group read it)");
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(file.number(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(flag, path, std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0) refuse(flag, path, "has become shorter while it was read; try again");
    size += static_cast<std::size_t>(count);
  }
  return text;
}

Bio memory_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

int no_password(char*, int, int, void*) {
  return -1;
}

/// Uses the first certificate of the file as the server's. The server sends the issuers'
/// certificates after it with its own.
Certificate use_certificates(SSL_CTX* context, const std::string& path) {
  static constexpr const char* flag = "--tls-cert";
  const std::string text = text_of(flag, path, 0);
  const Bio memory = memory_of(text);
  Certificate own(PEM_read_bio_X509_AUX(memory.get(), nullptr, no_password, nullptr), &X509_free);
  if (own == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1)
    refuse(flag, path,
           "holds no certificate in PEM that TLS 1.3 can use; it begins with -----BEGIN "
           "CERTIFICATE-----");
  while (X509* const issuer = PEM_read_bio_X509(memory.get(), nullptr, no_password, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, issuer) == 1) continue;
    X509_free(issuer);
    refuse(flag, path, "holds an issuer's certificate that cannot be used");
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
    refuse(flag, path, "holds an issuer's certificate that is damaged");
  ERR_clear_error();
  return own;
}

void use_key(SSL_CTX* context, const std::string& path, const std::string& certificate) {
  static constexpr const char* flag = "--tls-key";
  std::string text = text_of(flag, path, foreign_mode);
  const Bio memory = memory_of(text);
  const Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr),
                &EVP_PKEY_free);
  OPENSSL_cleanse(text.data(), text.size());
  if (key == nullptr)
    refuse(flag, path,
           "holds no private key in PEM without a password; openssl pkey -in FILE -out FILE2 "
           "removes a password");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    refuse(flag, path, "is not the key of the certificate in " + certificate);
}

/// Chooses HTTP/1.1 if the client offers it. Otherwise, the server names no protocol.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned offered_length, void*) {
  static constexpr std::array<unsigned char, 9> http{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, length, http.data(), http.size(), offered, offered_length) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

std::shared_ptr<SSL_CTX> new_context() {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1)
    throw std::runtime_error("--tls-cert: the system's OpenSSL has no TLS 1.3");
  // With OpenSSL's larger groups, a handshake would cost this thread milliseconds, and a client
  // nothing.
  if (SSL_CTX_set1_groups_list(context.get(), "X25519:P-256:P-384") != 1)
    throw std::runtime_error("--tls-cert: the system's OpenSSL has no curves for TLS 1.3");
  // Without tickets, no secret outlives a connection, and no early data can be sent twice.
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                         SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  // With this mode, one call would read new keys as long as a client sends them, and other
  // connections would wait.
  SSL_CTX_clear_mode(context.get(), SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  return context;
}

std::string warning_of(const Certificate& certificate, const std::string& path) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0)
    return "the certificate in " + path + " has expired; clients refuse it until it is renewed";
  if (X509_cmp_current_time(X509_get0_notBefore(certificate.get())) > 0)
    return "the certificate in " + path + " is not valid yet; clients refuse it";
  return {};
}

}  // namespace

LoadedTls load_tls(const TlsFiles& files) {
  ERR_clear_error();
  const auto context = new_context();
  const Certificate certificate = use_certificates(context.get(), files.certificate);
  use_key(context.get(), files.key, files.certificate);
  return {context, warning_of(certificate, files.certificate)};
}

}  // namespace starling::stream
