# SPDX-License-Identifier: Apache-2.0
# Installs the built project into a staging folder, checks that installed headers include only
# installed headers, builds examples/, examples/c and examples/rust against the installed package as an
# outside user would, and runs the programs. Checks that the installed program has the live page if the
# build has it.
# Called by ctest with -D BUILD_DIR, PYTHON, BUILD_TYPE, SANITIZE, CUDA, EXAMPLES_DIR, WORK_DIR.
cmake_minimum_required(VERSION 3.25)
set(stage ${WORK_DIR}/stage)
set(build ${WORK_DIR}/build)
file(REMOVE_RECURSE ${WORK_DIR})

set(sanitizer_flags "")
if(SANITIZE)
  set(sanitizer_flags "-fsanitize=${SANITIZE}")
endif()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${stage})

# Checks that installed headers include only installed headers.
file(GLOB_RECURSE headers RELATIVE ${stage}/include ${stage}/include/starling/*)
foreach(header IN LISTS headers)
  file(STRINGS ${stage}/include/${header} includes REGEX "^ *# *include \"")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" target "${line}")
    if(NOT target IN_LIST headers)
      message(FATAL_ERROR "${header} includes ${target}, which is not installed")
    endif()
  endforeach()
endforeach()
# Checks that the wire's page and schema are installed: a client in any language is written from them.
foreach(file doc/starling/wire/README.md starling/starling.fbs)
  if(NOT EXISTS ${stage}/share/${file})
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()

list(LENGTH headers header_count)
message("${header_count} headers installed")

run(${CMAKE_COMMAND} -S ${EXAMPLES_DIR} -B ${build} -G Ninja -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
    -DCMAKE_PREFIX_PATH=${stage} -DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON "-DCMAKE_CXX_FLAGS=${sanitizer_flags}")
run(${CMAKE_COMMAND} --build ${build})
if(CUDA AND NOT EXISTS ${build}/vector_search_cuda)
  message(FATAL_ERROR "starling::cuda is built but was not installed")
endif()
foreach(program filters own_clock vector_search vector_ticks game_loop)
  run(${build}/${program})
endforeach()

set(ENV{STARLING_LIBRARY} ${stage}/lib/libstarling.so)
if(SANITIZE)
  unset(ENV{STARLING_LIBRARY})
endif()
run(${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/short_examples_test.py ${EXAMPLES_DIR} ${build})

# Checks that the search on the GPU prints the same as the search on the CPU.
execute_process(COMMAND nvidia-smi -L RESULT_VARIABLE no_gpu OUTPUT_QUIET ERROR_QUIET)
if(CUDA AND no_gpu EQUAL 0)
  foreach(program vector_search vector_search_cuda)
    execute_process(COMMAND ${build}/${program} OUTPUT_VARIABLE ${program}_says
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  if(NOT vector_search_says STREQUAL vector_search_cuda_says)
    message(FATAL_ERROR "cpu: ${vector_search_says}\ncuda: ${vector_search_cuda_says}")
  endif()
elseif(CUDA)
  message("vector_search_cuda was built and not run: this machine has no GPU")
endif()

run(${stage}/bin/starling --version)
run(bash ${CMAKE_CURRENT_LIST_DIR}/run_client ${stage}/bin/starling ${build}/client ${WORK_DIR}
    "taxi 11 at 10 m\ntaxi 13 at 10.0125 m")

# Checks the page. A build without Node has no page and installs none.
set(page ${stage}/share/starling/page)
set(check_page ${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/installed_page.py ${stage}/bin/starling)
if(EXISTS ${BUILD_DIR}/page/index.html)
  run(${check_page} with-page)
  file(REMOVE_RECURSE ${page})
  # Installs as if npm had not been able to build the page.
  file(READ ${BUILD_DIR}/clients/page/cmake_install.cmake script)
  string(REPLACE ${BUILD_DIR}/page ${WORK_DIR}/no_page script "${script}")
  file(WRITE ${WORK_DIR}/install_no_page.cmake "${script}")
  run(${CMAKE_COMMAND} -D CMAKE_INSTALL_PREFIX=${stage} -P ${WORK_DIR}/install_no_page.cmake)
endif()
if(EXISTS ${page})
  message(FATAL_ERROR "a page was installed that was not built")
endif()
run(${check_page} without-page)

include(${CMAKE_CURRENT_LIST_DIR}/c_examples.cmake)
