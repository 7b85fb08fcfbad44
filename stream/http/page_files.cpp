// SPDX-License-Identifier: Apache-2.0
// Reads the files of the page at start, and answers with them and their ETags: see page_files.hpp.
#include "starling/stream/http/page_files.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace starling::stream {

namespace {

// The page may load only from this server, and run only scripts that are files of this server.
constexpr const char* content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

constexpr const char* no_page =
    "This server has no page to look at. Build it with Node.js 18 and npm (Debian: apt-get install "
    "nodejs npm; then build Starling again), or start the server with --page DIR. docs/http.md has "
    "what this endpoint does without it.\n";

constexpr const char* remedy =
    "; name the folder of a built page, such as build/release/page, or --page none";

std::string content_type_of(const std::filesystem::path& path) {
  static constexpr auto types = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{".html", "text/html; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".mjs", "text/javascript; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".json", "application/json"},
       {".webmanifest", "application/manifest+json"},
       {".svg", "image/svg+xml"},
       {".png", "image/png"},
       {".ico", "image/vnd.microsoft.icon"},
       {".woff2", "font/woff2"},
       {".txt", "text/plain; charset=utf-8"}});
  const std::string extension = path.extension().string();
  for (const auto& [ending, type] : types)
    if (extension == ending) return std::string(type);
  return "application/octet-stream";
}

[[noreturn]] void refuse_page(const std::string& path, const std::string& why) {
  throw std::runtime_error("--page: cannot read " + path + ": " + why + remedy);
}

std::string bytes_of_file(const std::filesystem::path& path, std::uintmax_t size) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file)
    refuse_page(path.string(), errno == 0 ? "it has become shorter" : std::strerror(errno));
  return bytes;
}

/// Returns whether an If-None-Match field has the tag.
bool has_tag(std::string_view field, std::string_view etag) {
  return field == "*" || field.find(etag) != std::string_view::npos;
}

}  // namespace

PageFiles::PageFiles(const std::string& folder) try {
  std::size_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    std::string path("/");
    path += entry.path().lexically_relative(folder).generic_string();
    const std::uintmax_t size = entry.file_size();
    bytes += size;
    if (size > file_bytes_max || bytes > bytes_max || files_.size() >= files_max)
      throw std::runtime_error("--page: " + folder + " is no page of Starling: it has more than " +
                               std::to_string(files_max) + " files, more than " +
                               std::to_string(bytes_max) + " bytes, or a file of more than " +
                               std::to_string(file_bytes_max) + " (" + path + ")" + remedy);
    std::string body = bytes_of_file(entry.path(), size);
    std::string etag = fmt::format("\"{:016x}-{:x}\"", std::hash<std::string>()(body), body.size());
    files_[path] = {content_type_of(entry.path()), std::move(etag), std::move(body)};
  }
  if (!files_.contains("/index.html"))
    throw std::runtime_error("--page: " + folder + " has no index.html, so it is no page" + remedy);
} catch (const std::filesystem::filesystem_error& error) {
  refuse_page(error.path1().empty() ? "the folder " + folder : error.path1().string(),
              error.code().message());
}

std::optional<HttpAnswer> PageFiles::answer(const HttpHead& head) const {
  if (head.method != "GET" && head.method != "HEAD") return std::nullopt;
  const std::string_view target = head.target;
  const std::string_view path = target.substr(0, target.find('?'));
  if (files_.empty() && path == "/") return HttpAnswer{.status = 404, .body = no_page};
  const auto found = files_.find(path == "/" ? "/index.html" : path);
  if (found == files_.end()) return std::nullopt;
  const File& file = found->second;
  HttpAnswer answer{.content_type = file.content_type, .body = {}};
  answer.fields = {{"ETag", file.etag},
                   {"Cache-Control", "no-cache"},
                   {"Content-Security-Policy", content_security_policy},
                   {"Referrer-Policy", "no-referrer"}};
  if (has_tag(head.if_none_match, file.etag))
    answer.status = 304;
  else
    answer.body = file.body;
  return answer;
}

}  // namespace starling::stream
