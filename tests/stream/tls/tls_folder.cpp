// SPDX-License-Identifier: Apache-2.0
// Makes certificates and keys: see tls_folder.hpp.
#include "tests/stream/tls/tls_folder.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

namespace starling::stream {

namespace {

std::string text_in(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

void add_extension(X509* certificate, int kind, const char* text) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, text);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::string certificate_text(const CertificateTerms& terms, EVP_PKEY* key) {
  static long serial = 0;
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  X509* const certificate = made.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), terms.begin_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate), terms.end_s);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(terms.name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_set_pubkey(certificate, key);
  add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  if (X509_sign(certificate, key, EVP_sha256()) == 0) throw std::runtime_error("not signed");
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(memory.get(), certificate);
  return text_in(memory.get());
}

}  // namespace

TlsKey new_tls_key() {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  if (key == nullptr) throw std::runtime_error("no key");
  return {key, EVP_PKEY_free};
}

TlsFolder::TlsFolder() {
  std::string path = testing::TempDir() + "starling-tls-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder for certificates");
  folder_ = path;
  write({});
}

TlsFolder::~TlsFolder() {
  std::filesystem::remove_all(folder_);
}

void TlsFolder::write_certificate(const CertificateTerms& terms, const TlsKey& key) const {
  write_text("cert.pem", certificate_text(terms, key.get()), 0644);
}

void TlsFolder::write(const CertificateTerms& terms, const TlsKey& key) const {
  write_certificate(terms, key);
  write_key("key.pem", key);
}

void TlsFolder::write_key(const std::string& name, const TlsKey& key, std::string password) const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PrivateKey(memory.get(), key.get(), password.empty() ? nullptr : EVP_aes_256_cbc(),
                           nullptr, 0, nullptr, password.empty() ? nullptr : password.data());
  write_text(name, text_in(memory.get()));
}

void TlsFolder::write_text(const std::string& name, const std::string& text, unsigned mode) const {
  std::ofstream(path(name), std::ios::binary) << text;
  ::chmod(path(name).c_str(), mode);
}

std::string TlsFolder::text_of(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace starling::stream
