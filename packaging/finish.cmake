# SPDX-License-Identifier: Apache-2.0
# CPack runs this script for each kind of package, after it has copied the files and before it packs them. The
# script adds the files that Debian's policy requires.
cmake_policy(VERSION 3.25)
set(packaging ${CPACK_STARLING_SOURCE_DIR}/packaging)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Writes the change logs, the copyright file and lintian's overrides of the package `name` into `root`. A
# package with work of third parties has its own copyright file.
function(finish_deb root name)
  set(doc ${root}/usr/share/doc/${name})
  file(MAKE_DIRECTORY ${doc})
  set(copyright ${packaging}/debian/copyright)
  if(EXISTS ${packaging}/debian/${name}.copyright)
    set(copyright ${packaging}/debian/${name}.copyright)
  endif()
  file(COPY_FILE ${copyright} ${doc}/copyright)
  file(STRINGS ${CPACK_STARLING_SOURCE_DIR}/CITATION.cff date REGEX "^date-released")
  string(REGEX MATCH "[0-9]+-[0-9]+-[0-9]+" date "${date}")
  execute_process(COMMAND date --utc --rfc-email --date=${date} OUTPUT_VARIABLE stamp
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${doc}/changelog.Debian "starling (${CPACK_STARLING_DEB_VERSION}) unstable; \
urgency=medium\n\n  * The project's own package. changelog.gz says what is new.\n\n -- \
${CPACK_PACKAGE_CONTACT}  ${stamp}\n")
  file(COPY_FILE ${CPACK_STARLING_SOURCE_DIR}/CHANGELOG.md ${doc}/changelog)
  run(gzip -9nf ${doc}/changelog ${doc}/changelog.Debian)
  file(MAKE_DIRECTORY ${root}/usr/share/lintian/overrides)
  file(COPY_FILE ${packaging}/debian/${name}.lintian-overrides
       ${root}/usr/share/lintian/overrides/${name})
  file(GLOB_RECURSE pages ${root}/usr/share/man/*.1)
  if(pages)
    run(gzip -9nf ${pages})
  endif()
  file(GLOB_RECURSE archives ${root}/usr/lib/*.a)
  if(archives)
    run(strip --strip-debug --enable-deterministic-archives ${archives})
  endif()
  file(REMOVE ${root}/usr/share/doc/starling/LICENSE)  # the copyright file says where the licence is
endfunction()

if(CPACK_GENERATOR STREQUAL "DEB")
  set(root ${CPACK_TEMPORARY_DIRECTORY})
  # The package depends on the distribution's libraries, so the program needs no search path of its own.
  file(RPATH_REMOVE FILE ${root}/program/usr/bin/starling)
  finish_deb(${root}/program starling)
  finish_deb(${root}/library libstarling0)
  finish_deb(${root}/development libstarling-dev)
  finish_deb(${root}/python python3-starling)
  if(CPACK_STARLING_CUDA)
    finish_deb(${root}/cuda starling-cuda)
  endif()
endif()
