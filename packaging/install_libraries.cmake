# SPDX-License-Identifier: Apache-2.0
# Installs the shared libraries that the program loads, with their licences, so that the tarball runs
# from any folder. Leaves out the libraries of the C and C++ runtimes, which must be the machine's own.
# Run by an install rule, which sets starling_built.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/linked_libraries.cmake)
set(root $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
set(runtimes "^(ld-linux.*|lib(c|m|stdc\\+\\+|gcc_s|pthread|dl|rt|resolv)\\.so.*)$")

starling_linked_libraries(libraries ${starling_built})
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)
  if(name MATCHES "${runtimes}")
    continue()
  endif()
  file(INSTALL ${library} DESTINATION ${root}/lib/starling FOLLOW_SYMLINK_CHAIN)
  starling_package_of(package ${library})
  string(REGEX REPLACE " .*" "" package "${package}")
  if(package AND EXISTS /usr/share/doc/${package}/copyright)
    file(INSTALL /usr/share/doc/${package}/copyright
         DESTINATION ${root}/share/doc/starling/licences RENAME ${package})
  endif()
endforeach()
