# SPDX-License-Identifier: Apache-2.0
# CPack reads this file once for each kind of package. Debian has a package for each group of components. The
# tarball has the program with the libraries that it loads. The CUDA engine has a package and a tarball of its
# own; this tarball is unpacked over the first.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL program service library development python)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # else CPack puts the project's summary before each package's own
else()
  set(CPACK_COMPONENTS_ALL program bundled)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
endif()
if(CPACK_STARLING_CUDA)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
