# SPDX-License-Identifier: Apache-2.0
# Builds the live page and the script of a simulation's reports. Installs npm's packages if the lock file has
# changed since the last build, turns the wire's schema into TypeScript, and bundles. If the packages cannot
# be installed, warns and leaves the page out; the build goes on, and the next build tries again.
cmake_minimum_required(VERSION 3.25)
set(installed ${WORK_DIR}/installed.txt)
file(SHA256 ${SOURCE_DIR}/package-lock.json lock)
set(lock_installed)
if(EXISTS ${installed})
  file(READ ${installed} lock_installed)
endif()
if(NOT lock STREQUAL lock_installed)
  file(REMOVE ${installed})
  file(COPY ${SOURCE_DIR}/package.json ${SOURCE_DIR}/package-lock.json DESTINATION ${WORK_DIR})
  execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1
            --fetch-retry-mintimeout=500 --fetch-retry-maxtimeout=500 --fetch-timeout=20000
    WORKING_DIRECTORY ${WORK_DIR} TIMEOUT 300
    RESULT_VARIABLE failed ERROR_VARIABLE why OUTPUT_QUIET)
  if(failed)
    file(WRITE ${WORK_DIR}/npm.log "${why}")
    file(REMOVE_RECURSE ${PAGE_DIR})
    message(WARNING "The live page is left out, because npm could not install its packages: see \
${WORK_DIR}/npm.log.")
    return()
  endif()
  file(WRITE ${installed} ${lock})
endif()

# Links the sources into WORK_DIR, so that their imports find the packages that are installed there.
foreach(name src tests tsconfig.json)
  file(CREATE_LINK ${SOURCE_DIR}/${name} ${WORK_DIR}/${name} SYMBOLIC)
endforeach()
execute_process(COMMAND ${FLATC} --ts -o ${WORK_DIR}/generated ${SCHEMA} OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)

include(${SOURCE_DIR}/bundle.cmake)
bundle(src/page.tsx ${PAGE_DIR}/page.js)
bundle(src/report/report.tsx ${PAGE_DIR}/report.js)
file(COPY ${SOURCE_DIR}/src/index.html ${WORK_DIR}/node_modules/world-atlas/land-50m.json
     DESTINATION ${PAGE_DIR})
file(TOUCH ${PAGE_DIR}/index.html ${PAGE_DIR}/land-50m.json)

# The size of a script is limited, so that the page loads quickly and a server can keep it in memory. Each
# report contains its whole script.
foreach(script page.js:300000 report.js:60000)
  string(REPLACE ":" ";" script ${script})
  list(GET script 0 name)
  list(GET script 1 bytes_max)
  file(SIZE ${PAGE_DIR}/${name} bytes)
  if(bytes GREATER bytes_max)
    message(FATAL_ERROR "${name} has ${bytes} bytes; at most ${bytes_max} are allowed.")
  endif()
endforeach()
