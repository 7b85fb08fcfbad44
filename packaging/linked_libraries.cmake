# SPDX-License-Identifier: Apache-2.0
# starling_linked_libraries(<variable> <program>): the shared libraries that the loader finds for a
# program, as a list of paths.
# starling_package_of(<variable> <library>): Debian's package of a library, "name version", or an
# empty text where dpkg does not know it.
cmake_policy(VERSION 3.25)

function(starling_linked_libraries variable program)
  execute_process(COMMAND ldd ${program} OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCHALL "(=> |\t)/[^ ]+" libraries "${text}")
  list(TRANSFORM libraries REPLACE "^(=> |\t)" "")
  list(SORT libraries)
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()

function(starling_package_of variable library)
  set(${variable} "" PARENT_SCOPE)
  file(REAL_PATH ${library} path)
  # dpkg lists a library under /lib/... or /usr/lib/..., which are the same folder.
  string(REGEX REPLACE "^/usr" "" short "${path}")
  foreach(name ${path} ${short})
    execute_process(COMMAND dpkg-query --search ${name} OUTPUT_VARIABLE found ERROR_QUIET
                    RESULT_VARIABLE failed)
    if(failed EQUAL 0)
      string(REGEX REPLACE "^([^:]+):.*" "\\1" package "${found}")
      string(REGEX MATCH "^([^:]+:[^:]+):" with_architecture "${found}")
      string(REGEX REPLACE ":$" "" with_architecture "${with_architecture}")
      if(NOT with_architecture)
        set(with_architecture ${package})
      endif()
      execute_process(COMMAND dpkg-query --show --showformat=\${Version} ${with_architecture}
                      OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
      set(${variable} "${package} ${version}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
