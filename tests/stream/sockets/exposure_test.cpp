// SPDX-License-Identifier: Apache-2.0
// Tests the sentence about endpoints that other machines can reach.
#include "starling/stream/sockets/exposure.hpp"

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

TEST(ExposureWarning, SaysWhatIsMissingAndNoMore) {
  const Exposure all{
      .commands = "tcp://0.0.0.0:1", .results = "tcp://0.0.0.0:2", .http = "0.0.0.0:3"};
  EXPECT_EQ(exposure_warning(all),
            "insecure: other machines can reach commands tcp://0.0.0.0:1, results "
            "tcp://0.0.0.0:2, http 0.0.0.0:3. There is no authentication and no encryption: "
            "every client that reaches them can read and change everything");
  Exposure with_tls = all;
  with_tls.has_tls = true;
  EXPECT_EQ(exposure_warning(with_tls),
            "insecure: other machines can reach commands tcp://0.0.0.0:1, results "
            "tcp://0.0.0.0:2, http 0.0.0.0:3. There is no authentication, and only http is "
            "encrypted: every client that reaches them can read and change everything");
  with_tls.commands = "tcp://127.0.0.1:1";
  with_tls.results = "ipc:///tmp/results";
  EXPECT_EQ(exposure_warning(with_tls),
            "insecure: other machines can reach http 0.0.0.0:3. There is no authentication: "
            "every client that reaches it can read and change everything");
  Exposure with_keys = all;
  with_keys.has_keys = true;
  EXPECT_EQ(exposure_warning(with_keys),
            "insecure: other machines can reach http 0.0.0.0:3. It takes tokens, but there is no "
            "encryption: every reader of the network can use them. Give --tls-cert and --tls-key");
  with_keys.has_tls = true;
  EXPECT_EQ(exposure_warning(with_keys), "");
}

}  // namespace
}  // namespace starling::stream
