// SPDX-License-Identifier: Apache-2.0
// Tests key files. What is written can be read. A file that is no key file, or that others than its
// owner may read, is refused with a sentence that shows no secret.
#include "starling/protocol/keys/key_file.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace starling::protocol {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The example of ZeroMQ's RFC 26.
constexpr const char* rfc_public = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
constexpr const char* rfc_secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";

class KeyFiles : public testing::Test {
 protected:
  KeyFiles()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("starling-keys-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~KeyFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& text, mode_t mode = 0600) const {
    std::string file = path("a.key");
    std::ofstream(file, std::ios::binary) << text;
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    return file;
  }
  static std::string whole() {
    return std::string("name = \"a\"\npublic = \"") + rfc_public + "\"\nsecret = \"" + rfc_secret +
           "\"\n";
  }
  static std::string error_of(const std::string& file) {
    try {
      read_key_file(file);
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(file), Not(HasSubstr(rfc_secret))));
      return error.what();
    }
    return "no error";
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(KeyFiles, AWrittenPairIsReadAgain) {
  KeyPair pair = new_key_pair("dispatch");
  write_key_file(path("one"), pair);
  pair.server_key = new_key_pair("server").public_key;
  write_key_file(path("two"), pair);
  EXPECT_EQ(read_key_file(path("one")).server_key, std::nullopt);
  const KeyPair read = read_key_file(path("two"));
  EXPECT_EQ(read.name, "dispatch");
  EXPECT_EQ(read.public_key, pair.public_key);
  EXPECT_EQ(read.secret_key, pair.secret_key);
  EXPECT_EQ(read.server_key, pair.server_key);
}

TEST_F(KeyFiles, AreWrittenForTheirOwnerAloneWhateverTheMaskSays) {
  const mode_t mask = ::umask(0);
  write_key_file(path("new"), new_key_pair("a"));
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat(path("new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0600u);
}

TEST_F(KeyFiles, AreNeverOverwritten) {
  const std::string file = write("mine");
  const std::string link = path("link");
  std::filesystem::create_symlink(path("nothing"), link);
  for (const std::string& name : {file, link}) {
    try {
      write_key_file(name, new_key_pair("a"));
      ADD_FAILURE() << name;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr("exists already")));
    }
  }
  EXPECT_EQ(std::filesystem::file_size(file), 4u);
  EXPECT_FALSE(std::filesystem::exists(path("nothing")));
}

TEST_F(KeyFiles, AreNotWrittenIntoAFolderThatIsNotThere) {
  EXPECT_THROW(write_key_file(path("no/a.key"), new_key_pair("a")), std::runtime_error);
}

TEST_F(KeyFiles, HoldNoNameThatWouldEndItsText) {
  for (const std::string& name : {std::string(), std::string("a\"b"), std::string("a\\b"),
                                  std::string("a\nserver = \"x"), std::string(256, 'a')})
    EXPECT_THROW(write_key_file(path("new"), new_key_pair(name)), std::runtime_error) << name;
  EXPECT_FALSE(std::filesystem::exists(path("new")));
}

TEST_F(KeyFiles, MayHaveCommentsBlankLinesAndAnyOrder) {
  const KeyPair pair =
      read_key_file(write(std::string("# mine\r\n\n  secret=\"") + rfc_secret +
                          "\" # hush\n\tname = \"a # b\"\npublic = \"" + rfc_public + "\""));
  EXPECT_EQ(pair.name, "a # b");
  EXPECT_EQ(to_z85(pair.public_key), rfc_public);
  EXPECT_EQ(to_z85(pair.secret_key), rfc_secret);
}

TEST_F(KeyFiles, AreReadOnlyIfNobodyElseMayReadOrWriteThem) {
  for (const mode_t mode : {0600u, 0400u, 0700u})
    EXPECT_EQ(read_key_file(write(whole(), mode)).name, "a");
  for (const mode_t mode : {0640u, 0620u, 0610u, 0604u, 0602u, 0601u, 0777u})
    EXPECT_THAT(error_of(write(whole(), mode)), HasSubstr("run chmod 600 on it")) << mode;
  EXPECT_THAT(error_of(write(whole(), 0644)), HasSubstr("(mode 0644)"));
}

TEST_F(KeyFiles, BehindALinkAreCheckedThemselves) {
  const std::string file = write(whole(), 0600);
  std::filesystem::create_symlink(file, path("link"));
  EXPECT_EQ(read_key_file(path("link")).name, "a");
  write(whole(), 0640);
  EXPECT_THAT(error_of(path("link")), HasSubstr("chmod 600"));
}

TEST_F(KeyFiles, ThatAreNoFilesAreRefusedWithoutWaiting) {
  EXPECT_THAT(error_of(path("")), HasSubstr("is not a file"));
  EXPECT_THAT(error_of(path("missing")), HasSubstr("starling keygen NAME makes one"));
  EXPECT_THAT(error_of("/dev/zero"), HasSubstr("is not a file"));
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of(pipe), HasSubstr("is not a file"));
}

TEST_F(KeyFiles, WithoutAMemberAreRefused) {
  EXPECT_THAT(error_of(write("")), HasSubstr("has no name"));
  EXPECT_THAT(error_of(write("name = \"\"\n")), HasSubstr("has no name"));
  EXPECT_THAT(error_of(write("name = \"a\"\n")), HasSubstr("has no public"));
  EXPECT_THAT(error_of(write(std::string("name = \"a\"\npublic = \"") + rfc_public + "\"\n")),
              HasSubstr("has no secret"));
}

TEST_F(KeyFiles, WithALineOfAnotherFormAreRefusedByItsNumber) {
  const std::string form = "is not of the form name = \"text\"";
  for (const std::string line :
       {"[[principal]]", "name", "name = a", "name = 'a'", "name = \"a", "name = \"a\" b",
        "name = \"a\\u0041\"", "name = \"a\tb\"", "name = [\"a\"]"})
    EXPECT_THAT(error_of(write("# one\n" + line + "\n")),
                AllOf(HasSubstr("line 2"), HasSubstr(form)))
        << line;
  EXPECT_THAT(error_of(write(whole() + "roles = \"admin\"\n")), HasSubstr("line 4 is not name,"));
  EXPECT_THAT(error_of(write(whole() + "name = \"b\"\n")), HasSubstr("line 4 names a member"));
  EXPECT_THAT(error_of(write(std::string("\0\1\2\xff\n", 5))), HasSubstr(form));
}

TEST_F(KeyFiles, ThatAreTooLongAreRefused) {
  const std::string filler(4096 - whole().size() - 2, 'x');
  EXPECT_EQ(read_key_file(write(whole() + "#" + filler + "\n")).name, "a");
  EXPECT_THAT(error_of(write(whole() + "##" + filler + "\n")),
              HasSubstr("has more than 4096 bytes"));
  EXPECT_THAT(error_of(write(std::string(1u << 20, '\0'))), HasSubstr("has more than 4096 bytes"));
}

TEST_F(KeyFiles, WithKeysThatAreNoneAreRefused) {
  EXPECT_THAT(error_of(write("name = \"a\"\npublic = \"short\"\n")),
              HasSubstr("public is not a key"));
  EXPECT_THAT(error_of(write(std::string("name = \"a\"\npublic = \"") + rfc_public +
                             "\"\nsecret = \"" + std::string(40, '~') + "\"\n")),
              HasSubstr("secret is not a key"));
  EXPECT_THAT(error_of(write(whole() + "server = \"\"\n")), HasSubstr("server is not a key"));
}

TEST_F(KeyFiles, WithTheHalvesOfTwoPairsAreRefused) {
  EXPECT_THAT(error_of(write("name = \"a\"\npublic = \"" + to_z85(new_key_pair("b").public_key) +
                             "\"\nsecret = \"" + rfc_secret + "\"\n")),
              HasSubstr("public is not the public key of secret"));
}

TEST(Z85, IsThatOfTheSpecification) {
  const auto key = from_z85(rfc_public);
  ASSERT_TRUE(key);
  EXPECT_EQ((*key)[0], 0xbb);
  EXPECT_EQ((*key)[1], 0x88);
  EXPECT_EQ(to_z85(*key), rfc_public);
}

TEST(Z85, OfAnotherLengthOrWithOtherCharactersIsNone) {
  const std::string text = rfc_public;
  EXPECT_FALSE(from_z85(""));
  EXPECT_FALSE(from_z85(text.substr(5)));
  EXPECT_FALSE(from_z85(text + "00000"));
  for (const char character : {'"', '\\', ' ', '\0', '\n', '~', '\x7f', '\xe4'}) {
    std::string changed = text;
    changed[17] = character;
    EXPECT_FALSE(from_z85(changed)) << int{character};
  }
  EXPECT_FALSE(from_z85("#####" + text.substr(5))) << "more than 32 bits";
}

TEST(NewKeys, Differ) {
  const KeyPair one = new_key_pair("a");
  const KeyPair other = new_key_pair("a");
  EXPECT_NE(one.public_key, other.public_key);
  EXPECT_NE(one.secret_key, other.secret_key);
  EXPECT_NE(one.secret_key, one.public_key);
}

}  // namespace
}  // namespace starling::protocol
