# What every target of the project shares: the language level, the warnings, and how a folder
# becomes a library.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(STARLING_CCACHE ccache)
if(STARLING_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STARLING_CCACHE})
endif()

# The compiler must not fuse or reorder floating-point operations: answers are equal to the bit.
add_library(starling_options INTERFACE)
target_compile_options(starling_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Woverloaded-virtual -Wold-style-cast -Wcast-align -Wimplicit-fallthrough -Werror
    -ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --fmad=false -Werror=all-warnings
    -Xcompiler=-Wall,-Wextra,-Werror>)
if(STARLING_SANITIZE)
  add_compile_options(-fsanitize=${STARLING_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STARLING_SANITIZE})
endif()

# starling_library(<folder> SOURCES ... [PUBLIC libs...] [PRIVATE libs...])
# Declares starling_<folder> (alias starling::<folder>). Headers are found as "folder/file.hpp".
function(starling_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(starling_${folder} STATIC ${arg_SOURCES})
  add_library(starling::${folder} ALIAS starling_${folder})
  set_target_properties(starling_${folder} PROPERTIES EXPORT_NAME ${folder})
  target_include_directories(starling_${folder} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/starling>)
  target_compile_features(starling_${folder} PUBLIC cxx_std_20)
  target_link_libraries(starling_${folder} PUBLIC ${arg_PUBLIC}
                        PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:starling_options>)
endfunction()

# starling_test(<folder> SOURCES ... [LIBS libs...] [LABEL label] [GPU]): one GoogleTest program per
# folder. With GPU its tests whose parameter begins with "cuda" are there where the CUDA engine is,
# labelled gpu.
function(starling_test folder)
  cmake_parse_arguments(arg "GPU" "LABEL" "SOURCES;LIBS" ${ARGN})
  set(label)
  if(arg_LABEL)
    set(label LABELS ${arg_LABEL})
  endif()
  add_executable(test_${folder} ${arg_SOURCES})
  target_link_libraries(test_${folder} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main
                        starling_options)
  target_include_directories(test_${folder} PRIVATE ${PROJECT_SOURCE_DIR})
  gtest_discover_tests(test_${folder} TEST_PREFIX "${folder}." DISCOVERY_TIMEOUT 60
                       TEST_FILTER "-*/cuda*" PROPERTIES TIMEOUT 300 ${label})
  if(arg_GPU AND STARLING_CUDA)
    target_link_libraries(test_${folder} PRIVATE starling::gpu)
    target_compile_definitions(test_${folder} PRIVATE STARLING_CUDA)
    gtest_discover_tests(test_${folder} TEST_PREFIX "${folder}." DISCOVERY_TIMEOUT 60
                         TEST_LIST test_${folder}_gpu TEST_FILTER "*/cuda*"
                         PROPERTIES TIMEOUT 300 LABELS gpu)
  endif()
endfunction()
