// SPDX-License-Identifier: Apache-2.0
// Tests the page's files at /: types, tags, the policy, and that no path leads out of the folder.
#include "starling/stream/http/page_files.hpp"

#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Page : public testing::Test {
 protected:
  Page() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root = std::filesystem::path(testing::TempDir()) / (std::string("page_of_") + test->name());
    std::filesystem::remove_all(root);
    folder = root / "page";
    write(folder / "index.html", "<!doctype html>");
    write(folder / "page.js", "1;");
    write(folder / "more" / "style.css", "a{}");
    write(root / "secret.txt", "a secret");
    std::filesystem::create_symlink(root / "secret.txt", folder / "link.txt");
  }
  ~Page() override { std::filesystem::remove_all(root); }

  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  ServerOptions options() const {
    ServerOptions options = manual_options();
    options.page_folder = folder.string();
    return options;
  }

  std::filesystem::path root;
  std::filesystem::path folder;
};

TEST_F(Page, FilesHaveTheirTypesAndThePolicy) {
  const RunningServer server(options());
  const std::string& endpoint = server.endpoints().http;
  for (const char* path : {"/", "/index.html", "/?place=1"})
    EXPECT_THAT(http_get(endpoint, path),
                AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/html"),
                      HasSubstr("Content-Security-Policy: default-src 'none'"),
                      HasSubstr("X-Content-Type-Options: nosniff"), HasSubstr("ETag: \""),
                      EndsWith("\r\n\r\n<!doctype html>")))
        << path;
  EXPECT_THAT(http_get(endpoint, "/page.js"), HasSubstr("Content-Type: text/javascript"));
  EXPECT_THAT(http_get(endpoint, "/more/style.css"), HasSubstr("Content-Type: text/css"));
  EXPECT_THAT(http_get(endpoint, "/healthz"), EndsWith("ok\n"));
}

TEST_F(Page, ATagSavesTheBody) {
  const RunningServer server(options());
  const std::string& endpoint = server.endpoints().http;
  const std::string first = http_get(endpoint, "/page.js");
  std::smatch tag;
  ASSERT_TRUE(std::regex_search(first, tag, std::regex("ETag: (\"[^\"]+\")")));
  const std::string again = http_exchange(
      endpoint, "GET /page.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nIf-None-Match: " +
                    tag[1].str() + "\r\n\r\n");
  EXPECT_THAT(again, AllOf(StartsWith("HTTP/1.1 304"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(http_exchange(endpoint,
                            "GET /page.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                            "If-None-Match: \"other\"\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(Page, NothingOutsideTheFolderIsServed) {
  const RunningServer server(options());
  for (const char* path :
       {"/../secret.txt", "/more/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
        "//secret.txt", "/link.txt", "/more", "/more/", "/none.js", "/page.js/"})
    EXPECT_THAT(http_get(server.endpoints().http, path),
                AllOf(StartsWith("HTTP/1.1 40"), Not(HasSubstr("a secret"))))
        << path;
  EXPECT_THAT(http_exchange(server.endpoints().http,
                            "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(http_exchange(server.endpoints().http,
                            "POST /index.html HTTP/1.1\r\nHost: localhost\r\n"
                            "Connection: close\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 404"));
}

TEST_F(Page, WithoutAPageTheServerSaysHowToGetIt) {
  const RunningServer server;
  EXPECT_THAT(http_get(server.endpoints().http, "/"), HasSubstr("--page DIR"));
}

TEST_F(Page, AFolderThatIsNoPageIsRefused) {
  EXPECT_THROW(PageFiles((root / "none").string()), std::runtime_error);
  EXPECT_THROW(PageFiles(root.string()), std::runtime_error) << "index.html is not at its root";
  write(folder / "large.js", std::string(PageFiles::file_bytes_max + 1, 'x'));
  EXPECT_THROW(PageFiles(folder.string()), std::runtime_error);
}

}  // namespace
}  // namespace starling::stream
