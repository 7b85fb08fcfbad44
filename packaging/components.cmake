# SPDX-License-Identifier: Apache-2.0
# CPack reads this once for each kind of package. Debian's have a package for each group of
# components; the tarball is the program with the libraries that it loads.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL program service library development python)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # else CPack puts it before each package's own
else()
  set(CPACK_COMPONENTS_ALL program bundled)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
endif()
