// SPDX-License-Identifier: Apache-2.0
// A folder with certificates and their keys, which the tests of TLS make with OpenSSL.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <openssl/x509.h>

#include "starling/stream/tls/tls_context.hpp"

namespace starling::stream {

using TlsKey = std::shared_ptr<EVP_PKEY>;

/// Returns a new key of the curve P-256.
TlsKey new_tls_key();

struct CertificateTerms {
  std::string name = "first";  ///< the common name
  long begin_s = -3600;        ///< seconds from now
  long end_s = 3600;
};

class TlsFolder {
 public:
  /// Writes cert.pem and key.pem with the default terms.
  TlsFolder();
  ~TlsFolder();
  TlsFolder(const TlsFolder&) = delete;
  TlsFolder& operator=(const TlsFolder&) = delete;

  std::string path(const std::string& name) const { return folder_ / name; }
  TlsFiles files() const { return {path("cert.pem"), path("key.pem")}; }

  /// Replaces cert.pem by a certificate that `key` signs, for 127.0.0.1 and localhost.
  void write_certificate(const CertificateTerms& terms, const TlsKey& key) const;
  /// Replaces cert.pem by such a certificate, and key.pem by `key`.
  void write(const CertificateTerms& terms, const TlsKey& key = new_tls_key()) const;
  /// Writes a file with the key, which is encrypted if `password` is not empty.
  void write_key(const std::string& name, const TlsKey& key, std::string password = {}) const;
  void write_text(const std::string& name, const std::string& text, unsigned mode = 0600) const;
  std::string text_of(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace starling::stream
