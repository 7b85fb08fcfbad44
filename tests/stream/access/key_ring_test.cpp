// SPDX-License-Identifier: Apache-2.0
// Tests which principal a key or a token belongs to, and what a reload changes.
#include "starling/stream/access/key_ring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/access/keys_folder.hpp"

namespace starling::stream {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The SHA-256 of "open sesame".
constexpr const char* sesame_hash =
    "41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb";
const std::string stats = "roles = [\"stats\"]\n";

class KeyRingOfAFile : public testing::Test {
 protected:
  KeyRingOfAFile() {
    folder.write(text_of_a(stats) + principal_text("b", b.public_key, stats));
    ring = std::make_unique<KeyRing>(folder.path());
  }
  std::string text_of_a(const std::string& members) const {
    return principal_text("a", a.public_key, members);
  }

  KeysFolder folder;
  protocol::KeyPair a = protocol::new_key_pair("a");
  protocol::KeyPair b = protocol::new_key_pair("b");
  std::unique_ptr<KeyRing> ring;
};

TEST(KeyRing, WithoutKeysEverybodyIsAnonymousAndMayDoEverything) {
  KeyRing ring;
  EXPECT_FALSE(ring.has_keys());
  EXPECT_EQ(ring.authentication(), nullptr);
  ASSERT_TRUE(ring.principal(PrincipalId::anonymous));
  EXPECT_TRUE(ring.principal(PrincipalId::anonymous)->has(Role::admin));
  EXPECT_THAT(ring.reload(), IsEmpty());
}

TEST_F(KeyRingOfAFile, AKeyBelongsToItsPrincipalAndAnUnknownOneToNobody) {
  const auto id = ring->by_key(a.public_key);
  ASSERT_TRUE(id);
  EXPECT_EQ(ring->principal(*id)->name, "a");
  EXPECT_EQ(ring->principal(*id)->id, *id);
  EXPECT_NE(*id, PrincipalId::anonymous);
  EXPECT_NE(ring->by_key(b.public_key), id);
  EXPECT_EQ(ring->by_key(folder.server.public_key), std::nullopt);
  ASSERT_NE(ring->authentication(), nullptr);
  EXPECT_EQ(ring->authentication()->server_public, folder.server.public_key);
  EXPECT_EQ(ring->authentication()->admit(a.public_key), id);
}

TEST_F(KeyRingOfAFile, NobodyIsAnonymousUnlessTheFileSaysSo) {
  EXPECT_EQ(ring->principal(PrincipalId::anonymous), nullptr);
  folder.write("[anonymous]\n" + stats);
  ring->reload();
  ASSERT_TRUE(ring->principal(PrincipalId::anonymous));
  EXPECT_TRUE(ring->principal(PrincipalId::anonymous)->has(Role::stats));
  EXPECT_FALSE(ring->principal(PrincipalId::anonymous)->has(Role::query));
}

TEST_F(KeyRingOfAFile, AnonymousClientsNeedToKnowWhatIsInFront) {
  KeyRing careful(folder.path(), false);
  folder.write("[anonymous]\n" + stats);
  try {
    careful.reload();
    ADD_FAILURE() << "it was read";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--trusted-proxy none"));
  }
  EXPECT_EQ(careful.principal(PrincipalId::anonymous), nullptr);
  EXPECT_THROW(KeyRing(folder.path(), false), std::runtime_error);
}

TEST_F(KeyRingOfAFile, ATokenBelongsToThePrincipalWithItsHash) {
  folder.write(text_of_a(stats + "token_sha256 = \"" + sesame_hash + "\"\n"));
  ring->reload();
  EXPECT_EQ(ring->by_token("open sesame"), ring->by_key(a.public_key));
  EXPECT_EQ(ring->by_token("open sesam"), std::nullopt);
  EXPECT_EQ(ring->by_token(""), std::nullopt);
  EXPECT_EQ(ring->by_token(sesame_hash), std::nullopt);
}

TEST_F(KeyRingOfAFile, AReloadTellsWhoHasLeftAndForgetsThem) {
  const auto id_a = *ring->by_key(a.public_key);
  const auto id_b = *ring->by_key(b.public_key);
  folder.write(principal_text("b", b.public_key, stats));
  EXPECT_THAT(ring->reload(), ElementsAre(id_a));
  EXPECT_EQ(ring->by_key(a.public_key), std::nullopt);
  EXPECT_EQ(ring->principal(id_a), nullptr);
  EXPECT_EQ(ring->by_key(b.public_key), id_b);
  folder.write(principal_text("b", b.public_key, stats) + principal_text("c", a.public_key, stats));
  EXPECT_THAT(ring->reload(), IsEmpty());
  const auto id_c = *ring->by_key(a.public_key);
  EXPECT_TRUE(id_c != id_a && id_c != id_b) << "no id is used for two names";
}

TEST_F(KeyRingOfAFile, AReloadTellsWhoseKeyTokenOrRightsHaveChanged) {
  const auto id = *ring->by_key(a.public_key);
  const auto reload_with = [&](const std::string& text) {
    folder.write(text + principal_text("b", b.public_key, stats));
    return ring->reload();
  };
  EXPECT_THAT(reload_with(text_of_a("roles = [\"query\"]\n")), ElementsAre(id));
  EXPECT_THAT(reload_with(text_of_a("roles = [\"query\"]\nstreams = [\"a\"]\n")), ElementsAre(id));
  EXPECT_THAT(reload_with(text_of_a("roles = [\"query\"]\nstreams = [\"a\"]\n")), IsEmpty());
  const auto other = protocol::new_key_pair("a");
  EXPECT_THAT(reload_with(principal_text("a", other.public_key, stats)), ElementsAre(id));
  EXPECT_EQ(ring->by_key(other.public_key), id) << "the same name keeps its id";
  EXPECT_EQ(ring->by_key(a.public_key), std::nullopt);
}

TEST_F(KeyRingOfAFile, NewQuotasCutNobody) {
  folder.write(text_of_a(stats + "quota.queries = 7\n") + principal_text("b", b.public_key, stats));
  EXPECT_THAT(ring->reload(), IsEmpty());
  EXPECT_EQ(ring->principal(*ring->by_key(a.public_key))->quotas.queries, 7u);
}

TEST_F(KeyRingOfAFile, ABadFileChangesNothing) {
  const auto id = ring->by_key(a.public_key);
  folder.write("[[principal]]\n");
  EXPECT_THROW(ring->reload(), std::runtime_error);
  EXPECT_EQ(ring->by_key(a.public_key), id);
  EXPECT_EQ(ring->principal(*id)->name, "a");
}

TEST_F(KeyRingOfAFile, AnotherKeyOfTheServerNeedsARestart) {
  protocol::write_key_file(folder.path("other.key"), protocol::new_key_pair("other"));
  folder.write_whole("[server]\nkey = \"other.key\"\n");
  EXPECT_THROW(ring->reload(), std::runtime_error);
  EXPECT_TRUE(ring->by_key(a.public_key));
}

}  // namespace
}  // namespace starling::stream
