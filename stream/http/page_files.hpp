// SPDX-License-Identifier: Apache-2.0
// The files of the live page, which HTTP serves at /. They are read once, at start, so that no
// request reaches the file system, whatever its path. Server owns the files.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {

class PageFiles {
 public:
  static constexpr std::size_t file_bytes_max = std::size_t{4} << 20;
  static constexpr std::size_t bytes_max = std::size_t{16} << 20;
  static constexpr std::size_t files_max = 256;

  /// Makes a page without files. The answer to / then says how to get a page.
  PageFiles() = default;
  /// Reads all files of the folder and of the folders in it. Symbolic links are left out. Throws
  /// std::runtime_error if a file cannot be read, if index.html is missing, or if the files exceed
  /// the limits.
  explicit PageFiles(const std::string& folder);

  /// Returns the answer to a GET or HEAD of a path that the page has; std::nullopt for all other
  /// requests.
  std::optional<HttpAnswer> answer(const HttpHead& head) const;

 private:
  struct File {
    std::string content_type;
    std::string etag;
    std::string body;
  };

  std::map<std::string, File, std::less<>> files_;  ///< the key is the path, such as "/page.js"
};

}  // namespace starling::stream
