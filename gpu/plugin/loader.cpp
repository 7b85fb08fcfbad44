// SPDX-License-Identifier: Apache-2.0
// Looks for the library, compares its build id and finds its door: see loader.hpp.
// STARLING_LIBRARY_FOLDER is the relative path from the folder of the installed program to the
// folder of the installed libraries.
#include "starling/gpu/plugin/loader.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <link.h>

#include "build_id/starling_build_id.hpp"

namespace starling::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libstarling-cuda.so";
constexpr const char* path_variable = "STARLING_CUDA_LIBRARY";

/// Returns the folder of the program or the shared library that this code is linked into, or an
/// empty path if that file cannot be found.
fs::path own_folder() {
  Dl_info info{};
  void* extra = nullptr;
  if (dladdr1(STARLING_BUILD_ID, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == nullptr)
    return {};
  const auto* const own = static_cast<const link_map*>(extra);
  // In the list of loaded files, the name of the program itself is empty.
  const bool is_program = own->l_name == nullptr || *own->l_name == '\0';
  std::error_code error;
  const fs::path file = fs::canonical(is_program ? "/proc/self/exe" : own->l_name, error);
  return error ? fs::path{} : file.parent_path();
}

/// Returns the path that STARLING_CUDA_LIBRARY names, or an empty text if it names no path.
std::string named_path() {
  // secure_getenv returns null in a program with more rights than its caller, so that the caller
  // cannot make the program load a library.
  const char* const named = secure_getenv(path_variable);
  return named == nullptr || *named == '\0' ? std::string() : fs::absolute(named).string();
}

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  const fs::path folder = own_folder();
  if (folder.empty()) return paths;
  for (const char* const libraries : {".", "../lib", STARLING_LIBRARY_FOLDER}) {
    std::string path = (folder / libraries / "starling" / library_name).lexically_normal().string();
    if (paths.empty() || paths.back() != path) paths.push_back(std::move(path));
  }
  return paths;
}

std::string what_to_install() {
  const std::string_view id = build_id();
  return "; install the package starling-cuda of version " +
         std::string(id.substr(0, id.find('+')));
}

/// Returns why the loaded library cannot be used, or an empty text if it can.
std::string fault_of(void* library, const std::string& path) {
  const auto* const id = static_cast<const char*>(dlsym(library, build_id_symbol));
  if (id == nullptr) return path + " is not Starling's CUDA engine";
  if (id != build_id())
    return path + " is of Starling " + id + ", and this is Starling " + std::string(build_id());
  if (dlsym(library, door_symbol) == nullptr) return path + " lacks " + door_symbol;
  return {};
}

}  // namespace

std::string_view build_id() {
  return STARLING_BUILD_ID;
}

std::string with_way_out(std::string why_none, std::string_view way_out) {
  const bool has_one = why_none.find("; ") != std::string::npos;
  return std::move(why_none.append(has_one ? ", or " : "; ").append(way_out));
}

CudaLibrary load_cuda_library() {
  CudaLibrary found;
  const std::string named = named_path();
  found.looked_for = named.empty() ? candidates() : std::vector{named};
  for (const std::string& path : found.looked_for) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    found.path = path;
    break;
  }
  if (found.path.empty()) {
    found.why_none = named.empty()
                         ? "the CUDA engine is not installed" + what_to_install()
                         : std::string(path_variable) + " names " + named +
                               ", which is not there; name the library, or unset the variable";
    return found;
  }
  // The library is never closed, even if it cannot be used: CUDA's runtime has registered itself
  // with the process.
  void* const library = dlopen(found.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    found.why_none = std::string("the CUDA engine cannot be loaded: ") + dlerror();
  else
    found.why_none = fault_of(library, found.path);
  if (found.why_none.empty())
    found.door = static_cast<const CudaDoor*>(dlsym(library, door_symbol));
  else
    found.why_none += what_to_install();
  return found;
}

}  // namespace starling::gpu
