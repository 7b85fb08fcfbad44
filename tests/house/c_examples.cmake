# SPDX-License-Identifier: Apache-2.0
# Moves the staging folder, builds examples/c with pkg-config and with CMake, and examples/rust, and
# runs the programs. Included by examples_test.cmake.
set(moved ${WORK_DIR}/moved)
set(c_build ${WORK_DIR}/c)
file(RENAME ${stage} ${moved})
file(COPY ${EXAMPLES_DIR}/c/ DESTINATION ${c_build})

foreach(file include/starling.h lib/libstarling.so lib/libstarling.so.0 lib/pkgconfig/starling.pc)
  if(NOT EXISTS ${moved}/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

set(ENV{CFLAGS} "${sanitizer_flags}")
set(ENV{PKG_CONFIG_PATH} ${moved}/lib/pkgconfig)
set(ENV{LD_LIBRARY_PATH} ${moved}/lib)
run(make -C ${c_build})
foreach(program flock nearest)
  run(${c_build}/${program})
endforeach()
run(bash ${CMAKE_CURRENT_LIST_DIR}/run_client ${moved}/bin/starling ${c_build}/watch ${WORK_DIR})

unset(ENV{LD_LIBRARY_PATH})  # CMake's programs find the library by their own path
run(${CMAKE_COMMAND} -S ${c_build} -B ${c_build}/cmake -G Ninja -DCMAKE_PREFIX_PATH=${moved})
run(${CMAKE_COMMAND} --build ${c_build}/cmake)
run(${c_build}/cmake/nearest)

find_program(rustc rustc HINTS /usr/bin NO_DEFAULT_PATH)
if(NOT rustc)
  message("examples/rust was not built: /usr/bin/rustc is not installed")
elseif(SANITIZE)
  message("examples/rust was not built: rustc links no sanitizer")
else()
  run(${rustc} ${EXAMPLES_DIR}/rust/nearest.rs -L ${moved}/lib -l starling -o ${WORK_DIR}/nearest_rust)
  set(ENV{LD_LIBRARY_PATH} ${moved}/lib)
  run(${WORK_DIR}/nearest_rust)
endif()
