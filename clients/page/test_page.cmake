# SPDX-License-Identifier: Apache-2.0
# Runs the page's tests of one kind: types (the compiler's check), unit (node --test) or browser.
cmake_minimum_required(VERSION 3.25)
if(NOT EXISTS ${WORK_DIR}/installed.txt)
  message("page test skipped: the page is not built, because npm's packages are missing")
  return()
endif()
include(${SOURCE_DIR}/bundle.cmake)
set(out ${WORK_DIR}/out)
if(KIND STREQUAL "types")
  execute_process(COMMAND ${NODE} node_modules/typescript/bin/tsc --noEmit
                  WORKING_DIRECTORY ${WORK_DIR} COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

if(KIND STREQUAL "browser")
  bundle(src/dev/page_dev.tsx ${out}/dev/page.js)
  file(COPY ${PAGE_DIR}/index.html ${PAGE_DIR}/land-50m.json DESTINATION ${out}/dev)
endif()
file(GLOB tests RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/tests/${KIND}/*.test.ts)
set(bundles)
foreach(test IN LISTS tests)
  string(REPLACE ".ts" ".mjs" output ${out}/${test})
  bundle(${test} ${output} --platform=node --format=esm --external:playwright-core
         --external:axe-core)
  list(APPEND bundles ${output})
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -E env STARLING_PAGE_DIR=${out}/dev
                        STARLING_BUILT_PAGE=${PAGE_DIR} STARLING_PROGRAM=${PROGRAM}
                        STARLING_TRACE=${TRACE} STARLING_NETWORK=${NETWORK}
                        ${NODE} --test ${bundles}
                WORKING_DIRECTORY ${WORK_DIR} COMMAND_ERROR_IS_FATAL ANY)
