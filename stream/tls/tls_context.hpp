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
  std::string key;          ///< its private key, which only its owner and group may read
};

struct LoadedTls {
  std::shared_ptr<ssl_ctx_st> context;
  /// One sentence if the certificate is not valid now; empty if it is. Browsers then refuse it.
  std::string warning;
};

/// Throws std::runtime_error with one sentence that names the flag and the file, and tells what to
/// do: if a file is missing, is not in PEM or belongs to another one, or if others may read the
/// key.
LoadedTls load_tls(const TlsFiles& files);

}  // namespace starling::stream
