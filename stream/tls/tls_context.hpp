// SPDX-License-Identifier: Apache-2.0
// Reads a certificate and its key from their files, for TLS 1.3. TlsRelay calls load_tls() at start
// and again when the certificate is renewed.
#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace starling::stream {

/// Two files in PEM.
struct TlsFiles {
  std::string certificate;  ///< the server's certificate, and after it those of its issuers
  std::string key;  ///< the certificate's private key; others than owner and group must not read it
};

struct LoadedTls {
  std::shared_ptr<ssl_ctx_st> context;
  /// One sentence if the certificate has expired or is not valid yet, so that browsers refuse it;
  /// empty: it is valid now.
  std::string warning;
};

/// Throws std::runtime_error if a file is missing or is not in PEM, if the key does not belong to
/// the certificate, or if others may read the key. The error's sentence names the flag and the
/// file, and says what to do.
LoadedTls load_tls(const TlsFiles& files);

}  // namespace starling::stream
