# SPDX-License-Identifier: Apache-2.0
# Finds each library that Starling needs, once. The tests find GeographicLib themselves. README.md says what
# each library is for; scripts/setup installs the libraries from the distribution.

find_package(Threads REQUIRED)
find_package(hwy REQUIRED)
if(STARLING_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(STARLING_ENGINE_ONLY)
  return()
endif()

set(Boost_NO_WARN_NEW_VERSIONS ON)
find_package(Boost 1.74 REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(FlatBuffers REQUIRED)
find_package(spdlog REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED COMPONENTS core)
find_package(simdjson REQUIRED)
find_package(EXPAT REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CLI11 REQUIRED)
# libzmq.pc lists flags of libzmq's own dependencies, which users of the shared library do not need. A second
# run of CMake writes these flags in another order, which would compile everything again.
pkg_check_modules(zmq REQUIRED IMPORTED_TARGET libzmq)
find_path(STARLING_ZMQ_INCLUDE zmq.hpp HINTS ${zmq_INCLUDEDIR} REQUIRED)
set_target_properties(PkgConfig::zmq PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${STARLING_ZMQ_INCLUDE}" INTERFACE_COMPILE_OPTIONS "")
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
find_path(STARLING_TOML_INCLUDE toml++/toml.h REQUIRED)  # headers only
pkg_check_modules(openssl REQUIRED IMPORTED_TARGET openssl)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(lemon REQUIRED IMPORTED_TARGET lemon)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_program(STARLING_FLATC flatc REQUIRED)
