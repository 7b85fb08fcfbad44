// SPDX-License-Identifier: Apache-2.0
// Tests the flags --tls-cert and --tls-key of `starling serve`, and SIGHUP.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/program.hpp"
#include "tests/stream/tls/tls_client.hpp"
#include "tests/stream/tls/tls_folder.hpp"

namespace starling::stream {
namespace {

class TlsProgram : public ProgramTest {
 protected:
  std::vector<std::string> flags() const {
    return {"--tls-cert", folder.path("cert.pem"), "--tls-key", folder.path("key.pem")};
  }
  std::vector<std::string> checked(std::vector<std::string> more) const {
    more.push_back("--check-config");
    return serve(more);
  }
  std::string certificate_name() const {
    TlsClient client(endpoint("http"));
    EXPECT_TRUE(client.shake_hands()) << client.why();
    return client.certificate_name();
  }

  TlsFolder folder;
};

TEST_F(TlsProgram, ItSpeaksTlsAndTakesANewCertificateAtSighup) {
  Program program(serve(flags()));
  ASSERT_TRUE(program.says("ready: ")) << program.said();
  EXPECT_EQ(certificate_name(), "first");
  folder.write({.name = "second"});
  program.send_signal(SIGHUP);
  EXPECT_TRUE(program.says("the certificate of " + folder.path("cert.pem") + " is read again"));
  EXPECT_EQ(certificate_name(), "second");
  folder.write_text("cert.pem", "damaged");
  program.send_signal(SIGHUP);
  EXPECT_TRUE(program.says("the old certificate stays: --tls-cert: " + folder.path("cert.pem")));
  EXPECT_EQ(certificate_name(), "second");
  folder.write({.name = "expired", .begin_s = -7200, .end_s = -3600});
  program.send_signal(SIGHUP);
  EXPECT_TRUE(program.says("cert.pem has expired; clients refuse it until it is renewed"));
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0) << program.said();
}

TEST_F(TlsProgram, ACertificateThatHasExpiredIsLogged) {
  folder.write({.begin_s = -7200, .end_s = -3600});
  Program program(serve(flags()));
  EXPECT_TRUE(program.says("cert.pem has expired; clients refuse it until it is renewed"));
}

TEST_F(TlsProgram, CheckConfigWarnsOfACertificateThatHasExpired) {
  folder.write({.begin_s = -7200, .end_s = -3600});
  Program program(checked(flags()));
  EXPECT_TRUE(program.says("warning: the certificate in " + folder.path("cert.pem") +
                           " has expired; clients refuse it until it is renewed"))
      << program.said();
  EXPECT_EQ(program.exit_status(), 0) << "a server starts all the same";
}

TEST_F(TlsProgram, OneFlagWithoutTheOtherIsRefusedWithASentence) {
  Program no_key(serve({"--tls-cert", folder.path("cert.pem")}));
  EXPECT_TRUE(no_key.says("tls-key: TLS needs the private key of the certificate too"))
      << no_key.said();
  EXPECT_NE(no_key.exit_status(), 0);
  Program no_certificate(serve({"--tls-key", folder.path("key.pem")}));
  EXPECT_TRUE(no_certificate.says("tls-cert: TLS needs the certificate of the private key too"))
      << no_certificate.said();
  EXPECT_NE(no_certificate.exit_status(), 0);
}

TEST_F(TlsProgram, CheckConfigReportsTheFaults) {
  Program good(checked(flags()));
  EXPECT_EQ(good.exit_status(), 0) << good.said();
  Program no_key(checked({"--tls-cert", folder.path("cert.pem")}));
  EXPECT_TRUE(no_key.says("tls-key: TLS needs the private key")) << no_key.said();
  EXPECT_EQ(no_key.exit_status(), 1);
  folder.write_key("key.pem", new_tls_key());
  Program foreign(checked(flags()));
  EXPECT_TRUE(foreign.says("is not the key of the certificate in")) << foreign.said();
  EXPECT_EQ(foreign.exit_status(), 1);
  Program missing(checked({"--tls-cert", "/none.pem", "--tls-key", folder.path("key.pem")}));
  EXPECT_TRUE(missing.says("--tls-cert: /none.pem cannot be read")) << missing.said();
  EXPECT_EQ(missing.exit_status(), 1);
}

TEST_F(TlsProgram, AnAddressOfTheNetworkWithoutKeysIsRefusedWithASentence) {
  auto arguments = flags();
  arguments.insert(arguments.end(), {"--http", "0.0.0.0:0"});
  Program program({"serve", "--commands", "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*",
                   "--threads", "1", "--http", "0.0.0.0:0", arguments[0], arguments[1],
                   arguments[2], arguments[3]});
  EXPECT_TRUE(program.says("cannot listen on 0.0.0.0:0")) << program.said();
  EXPECT_TRUE(program.says("--keys")) << program.said();
  EXPECT_NE(program.exit_status(), 0);
}

}  // namespace
}  // namespace starling::stream
