// SPDX-License-Identifier: Apache-2.0
// Tests that refusals reach users in the words of the commands.
#include "starling/apps/shared/server/refusal_text.hpp"

#include <set>

#include <gtest/gtest.h>

namespace starling::apps {
namespace {

using protocol::ErrorCode;
using protocol::RowReason;

TEST(RefusalText, NamesTheCommandThatMakesAStream) {
  EXPECT_EQ(refusal_text({ErrorCode::unknown_stream, "PutStream first"}, "ships"),
            "there is no stream 'ships' on this server; make it with: starling put stream ships");
  EXPECT_EQ(refusal_text({ErrorCode::k_out_of_range, "Question 0: k is 9."}), "k is 9.");
  EXPECT_EQ(refusal_text({ErrorCode::k_out_of_range, "Query 0: k is 9."}), "k is 9.");
  EXPECT_EQ(refusal_text({ErrorCode::k_out_of_range, "Query 10: k is 9."}), "Query 10: k is 9.");
}

TEST(RefusalText, EachReasonHasASentenceOfItsOwn) {
  std::set<std::string> sentences;
  const auto count = static_cast<std::size_t>(protocol::last_row_reason) + 1;
  for (std::size_t at = 0; at < count; ++at)
    sentences.insert(rejection_text(static_cast<RowReason>(at), {}));
  EXPECT_EQ(sentences.size(), count);
  EXPECT_EQ(sentences.count(rejection_text(RowReason{255}, {})), 0u);
  EXPECT_EQ(rejection_text(RowReason::too_many_objects, {"objects-max", 5}),
            "the server has no room for more objects; its limit is objects-max (5)");
}

}  // namespace
}  // namespace starling::apps
