// SPDX-License-Identifier: Apache-2.0
// Looks beside the program: see page_folder.hpp.
#include "starling/apps/shared/page_folder.hpp"

#include <filesystem>
#include <system_error>

namespace starling::apps {

std::string page_folder(const std::string& flag) {
  if (flag == "none") return {};
  if (!flag.empty()) return flag;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const auto beside = program.parent_path().parent_path();
  for (const auto& folder : {beside / "page", beside / "share" / "starling" / "page"})
    if (std::filesystem::is_regular_file(folder / "index.html", error)) return folder.string();
  return {};
}

}  // namespace starling::apps
