// SPDX-License-Identifier: Apache-2.0
// Tests load_cuda_library(): which file it takes, its errors for files that it refuses, and that
// objects and exceptions from the library keep their types.
#include "starling/gpu/plugin/loader.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace starling::gpu {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* variable = "STARLING_CUDA_LIBRARY";

std::string version() {
  const std::string_view id = build_id();
  return std::string(id.substr(0, id.find('+')));
}

CudaLibrary load(const std::string& path) {
  setenv(variable, path.c_str(), 1);
  return load_cuda_library();
}

void expect_refused(const std::string& path, const testing::Matcher<const std::string&>& why) {
  const CudaLibrary library = load(path);
  EXPECT_EQ(library.door, nullptr);
  EXPECT_EQ(library.path, path);
  EXPECT_THAT(library.why_none, AllOf(why, EndsWith("; install the package starling-cuda of "
                                                    "version " +
                                                    version())));
}

class Loader : public testing::Test {
 protected:
  void TearDown() override { unsetenv(variable); }
};

TEST_F(Loader, AWayOutFollowsTheOneThatAReasonHas) {
  EXPECT_EQ(with_way_out("there is no NVIDIA GPU", "use --engine cpu"),
            "there is no NVIDIA GPU; use --engine cpu");
  EXPECT_EQ(with_way_out("NVIDIA's driver is not installed; install it", "use --engine cpu"),
            "NVIDIA's driver is not installed; install it, or use --engine cpu");
}

TEST_F(Loader, HasABuildIdOfTheVersionAndAHash) {
  EXPECT_THAT(std::string(build_id()),
              testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\\+[0-9a-f]+"));
}

TEST_F(Loader, LooksBesideTheProgramAndInLib) {
  unsetenv(variable);
  const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path();
  const CudaLibrary library = load_cuda_library();
  ASSERT_GE(library.looked_for.size(), 2u);
  EXPECT_EQ(library.looked_for[0], folder / "starling/libstarling-cuda.so");
  EXPECT_EQ(library.looked_for[1], folder.parent_path() / "lib/starling/libstarling-cuda.so");
}

TEST_F(Loader, SaysThatALibraryIsMissing) {
  unsetenv(variable);
  const CudaLibrary library = load_cuda_library();  // no library lies beside this test
  EXPECT_EQ(library.door, nullptr);
  EXPECT_EQ(library.path, "");
  EXPECT_EQ(library.why_none,
            "the CUDA engine is not installed; install the package starling-cuda of version " +
                version());
}

TEST_F(Loader, AnEmptyVariableIsNone) {
  EXPECT_GE(load("").looked_for.size(), 2u);
}

TEST_F(Loader, NamesAFileThatIsNotThere) {
  const CudaLibrary library = load("/nowhere/libstarling-cuda.so");
  EXPECT_EQ(library.door, nullptr);
  EXPECT_EQ(
      library.why_none,
      "STARLING_CUDA_LIBRARY names /nowhere/libstarling-cuda.so, which is not there; name the "
      "library, or unset the variable");
}

TEST_F(Loader, RefusesAFileThatIsNoSharedLibrary) {
  const std::string path = testing::TempDir() + "no-library.so";
  std::ofstream(path) << "a text that is longer than the head of an ELF file, and no such file\n";
  expect_refused(path, StartsWith("the CUDA engine cannot be loaded: " + path + ": "));
  std::filesystem::remove(path);
}

TEST_F(Loader, RefusesASharedLibraryThatIsNotTheEngine) {
  expect_refused(FAKE_WITHOUT_A_VERSION,
                 StartsWith(FAKE_WITHOUT_A_VERSION " is not Starling's CUDA engine; "));
}

TEST_F(Loader, RefusesAnotherVersionAndNamesBoth) {
  expect_refused(FAKE_OF_ANOTHER_VERSION,
                 StartsWith(FAKE_OF_ANOTHER_VERSION " is of Starling 0.0.1+00000000, and this is "
                                                    "Starling " +
                            std::string(build_id()) + "; "));
}

TEST_F(Loader, RefusesThisVersionWithoutADoor) {
  expect_refused(FAKE_WITHOUT_A_DOOR, HasSubstr(" lacks starling_cuda_door; "));
}

#ifdef CUDA_LIBRARY

class CudaPlugin : public Loader {
 protected:
  void SetUp() override {
    const CudaLibrary library = load(CUDA_LIBRARY);
    ASSERT_NE(library.door, nullptr) << library.why_none;
    door_ = library.door;
  }

  const CudaDoor& door() const { return *door_; }

 private:
  const CudaDoor* door_ = nullptr;
};

TEST_F(CudaPlugin, OpensTheSameDoorEachTime) {
  const CudaLibrary library = load(CUDA_LIBRARY);
  EXPECT_EQ(library.door, &door());
  EXPECT_EQ(library.path, CUDA_LIBRARY);
  EXPECT_EQ(library.why_none, "");
}

TEST_F(CudaPlugin, FindsDevicesOrSaysWhyThereAreNone) {
  std::string why_none;
  const bool has_none = door().find_devices(why_none).empty();
  EXPECT_EQ(has_none, !why_none.empty());
}

// No machine has a device 1023.
TEST_F(CudaPlugin, ADeviceThatDoesNotExistArrivesAsARuntimeError) {
  EXPECT_THROW(door().make_engine({.device = 1023}), std::runtime_error);
  const int device = 1023;
  EXPECT_THROW(door().make_vector_searcher({&device, 1}), std::runtime_error);
}

// The library asks for memory for each device before it reads the first number.
TEST_F(CudaPlugin, MemoryThatIsNotThereArrivesAsBadAlloc) {
  const int device = 0;
  const std::span<const int> too_many(&device, std::size_t{1} << 55);
  try {
    door().make_vector_searcher(too_many);
    FAIL() << "memory for 2^55 devices";
  } catch (const std::exception& error) {
    EXPECT_NE(dynamic_cast<const std::bad_alloc*>(&error), nullptr) << error.what();
  }
}

TEST_F(CudaPlugin, AContradictionArrivesAsInvalidArgument) {
  std::string why_none;
  const auto devices = door().find_devices(why_none);
  if (devices.empty()) GTEST_SKIP() << why_none;
  EXPECT_THROW(door().make_engine({.space = {.space = Space::vector, .dimension = 0},
                                   .device = devices.front().number}),
               std::invalid_argument);
}

TEST_F(CudaPlugin, MakesAnEngineNamedCuda) {
  std::string why_none;
  const auto devices = door().find_devices(why_none);
  if (devices.empty()) GTEST_SKIP() << why_none;
  EXPECT_EQ(door().make_engine({.device = devices.front().number})->name(), "cuda");
}

#endif

}  // namespace
}  // namespace starling::gpu
