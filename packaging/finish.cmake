# SPDX-License-Identifier: Apache-2.0
# CPack runs this when the files of a kind of package lie in their folders, before it packs them: it
# adds what Debian's policy asks for.
cmake_policy(VERSION 3.25)
set(packaging ${CPACK_STARLING_SOURCE_DIR}/packaging)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The change logs, the copyright and the overrides of lintian of the package `name` in `root`. A package
# that holds others' work has a copyright of its own.
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
  file(REMOVE ${root}/usr/share/doc/starling/LICENSE)  # copyright says where it is
endfunction()

if(CPACK_GENERATOR STREQUAL "DEB")
  set(root ${CPACK_TEMPORARY_DIRECTORY})
  # The package depends on the distribution's libraries.
  file(RPATH_REMOVE FILE ${root}/program/usr/bin/starling)
  finish_deb(${root}/program starling)
  finish_deb(${root}/library libstarling0)
  finish_deb(${root}/development libstarling-dev)
  finish_deb(${root}/python python3-starling)
  if(CPACK_STARLING_CUDA)
    finish_deb(${root}/cuda starling-cuda)
  endif()
endif()
