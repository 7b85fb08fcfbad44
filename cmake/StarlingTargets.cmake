# SPDX-License-Identifier: Apache-2.0
# What every target of the project shares: the language level, the warnings, and how a folder becomes
# a library or a test program.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# With paths relative to the sources, other clones and build folders find the objects that this one has
# compiled.
find_program(STARLING_CCACHE ccache)
if(STARLING_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${STARLING_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# The compiler must not fuse or reorder floating-point operations, because every machine must give the same
# bits.
add_library(starling_options INTERFACE)
target_compile_options(starling_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:
    -Wall -Wextra -Wpedantic $<$<NOT:$<BOOL:$<TARGET_PROPERTY:STARLING_LARGE_UNITS>>>:-Wshadow> -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Woverloaded-virtual -Wold-style-cast -Wcast-align -Wimplicit-fallthrough -Werror
    -ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --fmad=false -Werror=all-warnings
    -Xcompiler=-Wall,-Wextra,-Werror>)
if(STARLING_SANITIZE)
  add_compile_options(-fsanitize=${STARLING_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STARLING_SANITIZE})
endif()

# Several sources of a folder are compiled as one (docs/decisions/0010-time-to-build.md), which halves
# the time from clone to first tick. Each file still includes what it uses: the presets for
# development and sanitizers compile every file alone.
option(STARLING_UNITY "Compile several sources as one" ${PROJECT_IS_TOP_LEVEL})
function(starling_unity target)
  if(STARLING_UNITY)
    # CMake 3.31 and later would join CUDA sources, too, although each has kernels of its own.
    get_target_property(cuda_sources ${target} SOURCES)
    list(FILTER cuda_sources INCLUDE REGEX "\\.cu$")
    if(cuda_sources)
      set_source_files_properties(${cuda_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # -Wsubobject-linkage warns of types in anonymous namespaces of included files, and a unit includes all
    # its sources. GCC collects garbage from 128 MiB on, which takes a tenth of its time; a unit needs 1 to
    # 1.5 GiB anyway.
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;SHELL:--param ggc-min-heapsize=1000000>")
  endif()
endfunction()

# The include root: "starling/knn/words/types.hpp" is knn/words/types.hpp, by links in the build folder
# and by copies where Starling is installed.
set(starling_include_root ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${starling_include_root}/starling)
foreach(folder apps bench clients cpu gpu knn log protocol sim stream)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${starling_include_root}/starling/${folder}
       SYMBOLIC)
endforeach()

# starling_library(<folder> [LARGE_UNITS] SOURCES ... [QUICK_SOURCES ...] [HEADERS ...] [PUBLIC libs...]
#                  [PRIVATE libs...])
# Declares starling_<folder> (alias starling::<folder>). HEADERS are installed. LARGE_UNITS compiles 24
# sources as one. It is for folders that use templates of Asio, CLI11 or FlatBuffers, which fewer units then
# instantiate. QUICK_SOURCES are compiled with -O1 in two thirds of the time. They wait for sockets and files,
# and no tick runs them.
function(starling_library folder)
  cmake_parse_arguments(arg "LARGE_UNITS" "" "SOURCES;QUICK_SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
  add_library(starling_${folder} STATIC ${arg_SOURCES})
  add_library(starling::${folder} ALIAS starling_${folder})
  target_include_directories(starling_${folder} PUBLIC
                             $<BUILD_INTERFACE:${starling_include_root}>)
  if(arg_HEADERS)
    list(TRANSFORM arg_HEADERS PREPEND ${starling_include_root}/starling/${folder}/)
    target_sources(starling_${folder} PUBLIC FILE_SET HEADERS BASE_DIRS ${starling_include_root}
                   FILES ${arg_HEADERS})
  endif()
  target_compile_features(starling_${folder} PUBLIC cxx_std_20)
  target_link_libraries(starling_${folder} PUBLIC ${arg_PUBLIC}
                        PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:starling_options>)
  set(targets starling_${folder})
  if(arg_QUICK_SOURCES)
    add_library(starling_${folder}_quick OBJECT ${arg_QUICK_SOURCES})
    target_link_libraries(starling_${folder}_quick PRIVATE ${arg_PUBLIC} ${arg_PRIVATE} starling_options)
    target_compile_definitions(starling_${folder}_quick PRIVATE
                               $<TARGET_PROPERTY:starling_${folder},COMPILE_DEFINITIONS>)
    target_compile_options(starling_${folder}_quick PRIVATE $<$<CONFIG:Release>:-O1>)
    target_sources(starling_${folder} PRIVATE $<TARGET_OBJECTS:starling_${folder}_quick>)
    list(APPEND targets starling_${folder}_quick)
  endif()
  foreach(target ${targets})
    starling_unity(${target})
    if(arg_LARGE_UNITS)
      set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)
    endif()
  endforeach()
endfunction()

# Test programs are compiled with few optimisations: compiling them takes longer than running them.
function(starling_test_options target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${starling_include_root})
  starling_unity(${target})
  if(STARLING_UNITY)
    # Half of a unit's compile time goes into headers, so units are large. STARLING_LARGE_UNITS drops
    # -Wshadow, because a name in one file may hide a name in another.
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 24 STARLING_LARGE_UNITS ON)
  endif()
endfunction()

# starling_test_library(<name> SOURCES ... LIBS libs...): what several test programs share.
function(starling_test_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LIBS} PRIVATE GTest::gmock starling_options)
  starling_test_options(${name})
endfunction()

# starling_test(<folder> SOURCES ... [LIBS libs...] [LABEL label] [LONG patterns...] [BACKENDS]): one
# GoogleTest program per folder. Tests that a pattern of LONG matches have the label long. With BACKENDS, the
# program has a suite for each instruction set of the CPU and, if it is built, for the CUDA engine. Tests
# whose parameter begins with "cuda" have the label cuda. Tests of portable code, and of instruction sets
# other than AVX2 and Arm's, have the label long.
function(starling_test folder)
  cmake_parse_arguments(arg "BACKENDS" "LABEL" "SOURCES;LIBS;LONG" ${ARGN})
  set(label)
  if(arg_LABEL)
    set(label LABELS ${arg_LABEL})
  endif()
  add_executable(test_${folder} ${arg_SOURCES})
  target_link_libraries(test_${folder} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main
                        starling_options)
  starling_test_options(test_${folder})
  if(arg_BACKENDS)
    list(APPEND arg_LONG */cpu_SS* */cpu_AVX3* */cpu_portable*)
  endif()
  list(JOIN arg_LONG ":" long)
  gtest_discover_tests(test_${folder} TEST_PREFIX "${folder}." DISCOVERY_TIMEOUT 60
                       TEST_FILTER "-*/cuda*:${long}" PROPERTIES TIMEOUT 300 ${label})
  if(long)
    gtest_discover_tests(test_${folder} TEST_PREFIX "${folder}." DISCOVERY_TIMEOUT 60
                         TEST_LIST test_${folder}_long TEST_FILTER "${long}:-*/cuda*"
                         PROPERTIES TIMEOUT 300 LABELS long)
  endif()
  if(arg_BACKENDS AND STARLING_CUDA)
    target_link_libraries(test_${folder} PRIVATE starling::gpu)
    target_compile_definitions(test_${folder} PRIVATE STARLING_CUDA)
    gtest_discover_tests(test_${folder} TEST_PREFIX "${folder}." DISCOVERY_TIMEOUT 60
                         TEST_LIST test_${folder}_cuda TEST_FILTER "*/cuda*"
                         PROPERTIES TIMEOUT 300 LABELS cuda)
  endif()
endfunction()
