// SPDX-License-Identifier: Apache-2.0
// Tests the errors of load_tls() for files that it cannot use.
#include "starling/stream/tls/tls_context.hpp"

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <sys/stat.h>

#include "tests/stream/tls/tls_folder.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TlsFilesTest : public testing::Test {
 protected:
  std::string refusal_of(const TlsFiles& files) const {
    try {
      load_tls(files);
      return {};
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  std::string refusal() const { return refusal_of(folder.files()); }
  std::string of_certificate() const { return "--tls-cert: " + folder.path("cert.pem") + " "; }
  std::string of_key() const { return "--tls-key: " + folder.path("key.pem") + " "; }

  TlsFolder folder;
};

TEST_F(TlsFilesTest, ACertificateAndItsKeyAreTakenWithoutAWarning) {
  EXPECT_EQ(load_tls(folder.files()).warning, "");
}

TEST_F(TlsFilesTest, AMissingFileIsNamed) {
  TlsFiles files = folder.files();
  files.certificate = folder.path("none");
  EXPECT_EQ(refusal_of(files),
            "--tls-cert: " + files.certificate + " cannot be read: No such file or directory");
  files = folder.files();
  files.key = folder.path("none");
  EXPECT_EQ(refusal_of(files),
            "--tls-key: " + files.key + " cannot be read: No such file or directory");
}

TEST_F(TlsFilesTest, AFolderOrADeviceIsRefused) {
  for (const std::string& path : {folder.path(""), std::string("/dev/zero")})
    EXPECT_EQ(refusal_of({path, folder.path("key.pem")}),
              "--tls-cert: " + path + " is no file in PEM; name the file that holds it");
}

TEST_F(TlsFilesTest, AKeyThatOthersMayReadOrChangeIsRefused) {
  for (const unsigned mode : {0644u, 0604u, 0602u, 0660u, 0620u, 0601u}) {
    ::chmod(folder.path("key.pem").c_str(), mode);
    EXPECT_THAT(refusal(), StartsWith(of_key() + "may be read or changed by others than its owner; "
                                                 "run chmod 600"))
        << mode;
  }
  for (const unsigned mode : {0400u, 0600u, 0640u}) {
    ::chmod(folder.path("key.pem").c_str(), mode);
    EXPECT_EQ(refusal(), "") << mode;
  }
}

TEST_F(TlsFilesTest, AFileThatIsNotInPemIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("hello\n"), std::string(1000, '\0'),
        std::string("-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n")}) {
    folder.write_text("bad.pem", text);
    EXPECT_EQ(refusal_of({folder.path("bad.pem"), folder.path("key.pem")}),
              "--tls-cert: " + folder.path("bad.pem") +
                  " holds no certificate in PEM that TLS 1.3 can use; it begins with -----BEGIN "
                  "CERTIFICATE-----");
    EXPECT_THAT(refusal_of({folder.path("cert.pem"), folder.path("bad.pem")}),
                StartsWith("--tls-key: " + folder.path("bad.pem") +
                           " holds no private key in PEM without a password"));
  }
}

TEST_F(TlsFilesTest, TheFilesInTheWrongOrderAreRefused) {
  EXPECT_THAT(refusal_of({folder.path("key.pem"), folder.path("key.pem")}),
              HasSubstr("holds no certificate in PEM"));
  EXPECT_THAT(refusal_of({folder.path("cert.pem"), folder.path("cert.pem")}),
              HasSubstr("may be read or changed by others"));
}

TEST_F(TlsFilesTest, AKeyWithAPasswordIsRefusedWithoutAskingForIt) {
  folder.write_key("key.pem", new_tls_key(), "secret");
  EXPECT_THAT(refusal(), StartsWith(of_key() + "holds no private key in PEM without a password; "
                                               "openssl pkey -in"));
}

TEST_F(TlsFilesTest, AKeyOfAnotherCertificateIsRefused) {
  folder.write_key("key.pem", new_tls_key());
  EXPECT_EQ(refusal(),
            of_key() + "is not the key of the certificate in " + folder.path("cert.pem"));
  folder.write_key("key.pem", TlsKey(EVP_RSA_gen(2048), EVP_PKEY_free));
  EXPECT_EQ(refusal(), of_key() + "is not the key of the certificate in " + folder.path("cert.pem"))
      << "a key of another kind";
}

TEST_F(TlsFilesTest, AWeakKeyIsRefused) {
  folder.write({}, TlsKey(EVP_RSA_gen(1024), EVP_PKEY_free));
  EXPECT_THAT(refusal(), StartsWith(of_certificate() + "holds no certificate"));
}

TEST_F(TlsFilesTest, ADamagedCertificateOfAnIssuerIsRefused) {
  const std::string own = folder.text_of("cert.pem");
  folder.write_text("cert.pem", own + own);
  EXPECT_EQ(refusal(), "");
  folder.write_text("cert.pem", own + own.substr(0, own.size() / 2) + own.substr(own.size() - 40));
  EXPECT_EQ(refusal(), of_certificate() + "holds an issuer's certificate that is damaged");
}

TEST_F(TlsFilesTest, AFileWithMoreThanAMebibyteIsRefused) {
  folder.write_text("cert.pem", folder.text_of("cert.pem") + std::string(1 << 20, '\n'));
  EXPECT_EQ(refusal(), of_certificate() + "is no file in PEM; name the file that holds it");
}

TEST_F(TlsFilesTest, ACertificateThatIsNotValidNowIsTakenWithAWarning) {
  folder.write({.begin_s = -7200, .end_s = -3600});
  EXPECT_EQ(load_tls(folder.files()).warning,
            "the certificate in " + folder.path("cert.pem") +
                " has expired; clients refuse it until it is renewed");
  folder.write({.begin_s = 3600, .end_s = 7200});
  EXPECT_EQ(load_tls(folder.files()).warning, "the certificate in " + folder.path("cert.pem") +
                                                  " is not valid yet; clients refuse it");
}

}  // namespace
}  // namespace starling::stream
