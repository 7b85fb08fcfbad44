// The arrows between the folders, and how an #include line is held against them: see
// include_table.hpp.
#include "tests/house/include_table.hpp"

#include <algorithm>
#include <map>
#include <regex>

namespace starling::house {
namespace {

// docs/ARCHITECTURE.md draws the same table. A folder may always include itself.
const std::map<std::string, std::vector<std::string>, std::less<>> allowed_folders = {
    {"knn", {}},
    {"cpu", {"knn"}},
    {"gpu", {"knn"}},
    {"protocol", {"knn"}},
    {"stream", {"protocol", "knn"}},
    {"sim", {"protocol", "knn"}},
    {"bench", {"knn", "cpu", "gpu", "protocol", "stream", "sim"}},
    {"apps", {"knn", "cpu", "gpu", "protocol", "stream", "sim", "bench"}},
};

// The standard library's own headers have neither a folder nor an extension.
bool is_standard_header(const std::string& header) {
  static const std::regex name("[a-z_0-9]+");
  return std::regex_match(header, name);
}

}  // namespace

std::vector<std::string> house_folders() {
  std::vector<std::string> folders;
  for (const auto& [folder, allowed] : allowed_folders) folders.push_back(folder);
  return folders;
}

std::optional<std::string> include_violation(std::string_view folder, std::string_view line) {
  static const std::regex include(R"re(^\s*#\s*include\s*(["<])([^">]+)[">].*)re");
  std::cmatch match;
  if (!std::regex_match(line.data(), line.data() + line.size(), match, include)) return {};
  const bool angled = match[1].str() == "<";
  const std::string header = match[2].str();
  const std::string target = header.substr(0, header.find('/'));
  const std::string from(folder);

  if (allowed_folders.contains(target)) {
    if (angled) return from + " includes <" + header + ">; the house's own headers take quotes";
    const auto& allowed = allowed_folders.find(folder)->second;
    if (target == folder || std::ranges::find(allowed, target) != allowed.end()) return {};
    return from + " must not include " + header + ": no arrow goes from " + from + " to " + target;
  }
  if (!angled && header.find('/') == std::string::npos)
    return from + " includes \"" + header + "\"; write it as \"folder/file.hpp\" from the root";
  if (folder == "knn" && !(angled && is_standard_header(header)))
    return "knn must not include " + header + ": it stands on the standard library alone";
  return {};
}

}  // namespace starling::house
