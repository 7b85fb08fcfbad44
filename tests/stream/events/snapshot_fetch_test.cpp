// SPDX-License-Identifier: Apache-2.0
// Tests that fetches of lists do not wait without bound.
#include "starling/stream/events/snapshot_fetch.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/stream/support/manual_executor.hpp"

namespace starling::stream {
namespace {

TEST(SnapshotFetch, FetchesBeyondTheLimitAreRefusedAtOnce) {
  boost::asio::io_context loop;
  ManualExecutor beside;
  const ListForm list_form;
  int sent = 0;
  SnapshotFetch snapshots(
      {.loop = loop,
       .beside = beside,
       .send = [&](auto, const auto&, const auto&) { ++sent; },  // no reply comes
       .reply_owner = [] { return nullptr; },
       .form = list_form,
       .bytes_max = 1});
  int refused = 0;
  for (int i = 0; i < 300; ++i)
    snapshots.fetch(zmtp::PrincipalId::anonymous, "cars", {},
                    [&](const SnapshotFetch::Result& result) {
                      EXPECT_EQ(result.problem->code, protocol::ErrorCode::busy);
                      ++refused;
                    });
  EXPECT_EQ(refused, 0) << "the refusal comes in a later turn of the loop";
  loop.run();
  EXPECT_EQ(sent, 2);
  EXPECT_EQ(refused, 300 - 2 - 256);
}

}  // namespace
}  // namespace starling::stream
