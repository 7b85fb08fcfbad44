# SPDX-License-Identifier: Apache-2.0
# The packages: `cmake --preset packages && cmake --build --preset packages` writes .debs (the program,
# the C library, what programs are built with, the Python package) and a tarball that runs from any
# folder into build/packages. With nvcc, the CUDA engine is one more .deb and one more tarball, and the others
# stay the same. docs/install.md says how to use them.

set(STARLING_MAINTAINER "The Starling developers <packages@starling.invalid>" CACHE STRING
    "The maintainer that the packages name")
set(deb_release 1)
set(deb_version ${PROJECT_VERSION}-${deb_release})

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/components.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/finish.cmake)
set(CPACK_STARLING_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_STARLING_DEB_VERSION ${deb_version})
set(CPACK_STARLING_CUDA ${STARLING_CUDA})
string(TOLOWER ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR} machine)
set(CPACK_PACKAGE_FILE_NAME starling-${PROJECT_VERSION}-${machine})
set(CPACK_ARCHIVE_PROGRAM_FILE_NAME ${CPACK_PACKAGE_FILE_NAME})
set(CPACK_ARCHIVE_CUDA_FILE_NAME starling-cuda-${PROJECT_VERSION}-${machine})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_PACKAGE_VENDOR "The Starling developers")
set(CPACK_PACKAGE_CONTACT "${STARLING_MAINTAINER}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${deb_release})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

# starling_deb(<component> <name> <section> <summary> <description>). CPack indents the description.
macro(starling_deb component name section summary description)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${component}_DESCRIPTION "${summary}\n${description}")
endmacro()
starling_deb(PROGRAM starling net "exact k nearest neighbours of moving objects"
"Starling is a server that finds the exact k nearest neighbours of moving
objects and of vectors at every tick, and streams what changed to its
subscribers. This package has the program with its commands, the live page,
and a service.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/packaging/debian/conffiles
    ${PROJECT_SOURCE_DIR}/packaging/debian/postinst
    ${PROJECT_SOURCE_DIR}/packaging/debian/prerm
    ${PROJECT_SOURCE_DIR}/packaging/debian/postrm)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "starling-cuda (= ${deb_version})")
starling_deb(LIBRARY libstarling0 libs "exact k nearest neighbours: C library"
"Starling finds the exact k nearest neighbours of moving objects and of
vectors. This package has the shared library with its C interface: the
engine in the process, and the client of a server.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "starling-cuda (= ${deb_version})")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
starling_deb(DEVELOPMENT libstarling-dev libdevel "exact k nearest neighbours: development files"
"Starling finds the exact k nearest neighbours of moving objects and of
vectors. This package has the header of the C library, and the C++ headers,
static libraries and CMake package of the engine and the client.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libstarling0 (= ${deb_version}), libhwy-dev, \
libflatbuffers-dev, libxxhash-dev, libzmq3-dev")
starling_deb(PYTHON python3-starling python "exact k nearest neighbours: Python 3"
"Starling finds the exact k nearest neighbours of moving objects and of
vectors. This package has the Python package starling: the engine in the
process, k-NN of NumPy arrays, and the client of a server.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libstarling0 (>= ${PROJECT_VERSION}), python3 (>= 3.11~), \
python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS starling)  # has docs/python.md, which docstrings name
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/packaging/debian/python/postinst
    ${PROJECT_SOURCE_DIR}/packaging/debian/python/prerm)
# The section is non-free, because the package contains NVIDIA's runtime. The package does not depend on
# NVIDIA's driver, which belongs to the machine. Program and library must have exactly this version
# (gpu/plugin/loader.hpp).
starling_deb(CUDA starling-cuda non-free/net "exact k nearest neighbours: engine for NVIDIA GPUs"
"Starling finds the exact k nearest neighbours of moving objects and of
vectors. This package has the engine for NVIDIA GPUs of compute capability
8.0 or later. The program and the C library load it if it is installed. It
needs NVIDIA's driver for CUDA 13, which is not part of it. Without a driver
or a GPU, the engine for CPUs is used.")
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "starling (= ${deb_version}) | libstarling0 (= ${deb_version})")
set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS "libcuda1, libnccl2")
set(CPACK_DEBIAN_CUDA_PACKAGE_ENHANCES "starling, libstarling0")

include(CPack)
cpack_add_component_group(program)
cpack_add_component_group(library)
cpack_add_component_group(development)
cpack_add_component_group(python)
cpack_add_component(program GROUP program)
cpack_add_component(service GROUP program)
cpack_add_component(bundled GROUP program)
cpack_add_component(library GROUP library)
cpack_add_component(development GROUP development)
cpack_add_component(python GROUP python)
if(STARLING_CUDA)
  cpack_add_component_group(cuda)
  cpack_add_component(cuda GROUP cuda)
endif()
