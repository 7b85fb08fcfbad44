# Every library Starling stands on, found once. README.md says why each is there; scripts/setup
# installs them from the distribution.

set(Boost_NO_WARN_NEW_VERSIONS ON)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(FlatBuffers REQUIRED)
find_package(spdlog REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED COMPONENTS core)
find_package(simdjson REQUIRED)
find_package(EXPAT REQUIRED)
find_package(ZLIB REQUIRED)
find_package(hwy REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(zmq REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_program(STARLING_FLATC flatc REQUIRED)

if(STARLING_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
