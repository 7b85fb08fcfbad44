# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: the program and what users link. starling::starling is the engine on the CPU,
# starling::cuda the engine on NVIDIA GPUs (where it was built), starling::client the client of a
# server, starling::c the C interface (pkg-config: starling), starling::cpp the C++ headers over it. Installed
# headers are the HEADERS of each folder's CMakeLists.txt. examples/ is built against an installation.

# Packages are made of components (packaging/CMakeLists.txt): program, library (the shared library), cuda (the
# engine that program and library load on a machine with a GPU) and, for all else, development. No package has
# the component cuda_development with starling::cuda: linking starling::cuda needs the CUDA toolkit, which can
# also build it.

include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/starling)

# One name for users; the folders behind it may change.
add_library(starling_starling INTERFACE)
add_library(starling::starling ALIAS starling_starling)
target_link_libraries(starling_starling INTERFACE starling_knn starling_cpu)
set_target_properties(starling_starling PROPERTIES EXPORT_NAME starling)
set_target_properties(starling_knn PROPERTIES EXPORT_NAME internal_knn)
set_target_properties(starling_cpu PROPERTIES EXPORT_NAME internal_cpu)

# starling_install(<export> targets...): libraries, headers and the package's file of targets.
function(starling_install export)
  install(TARGETS ${ARGN} EXPORT starling_${export}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
                  NAMELINK_COMPONENT development
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT starling_${export} FILE starling_${export}.cmake NAMESPACE starling::
          DESTINATION ${package_dir})
endfunction()
starling_install(engine starling_starling starling_knn starling_cpu)
if(NOT STARLING_ENGINE_ONLY)
  set_target_properties(starling_protocol PROPERTIES EXPORT_NAME client)
  add_library(starling::client ALIAS starling_protocol)
  starling_install(client starling_protocol)
  set_target_properties(starling_c PROPERTIES EXPORT_NAME c)
  set_target_properties(starling_cpp PROPERTIES EXPORT_NAME cpp)
  starling_install(c starling_c starling_cpp)
  # starling.pc names its folders relative to its own place, so that an installation can be moved.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
             BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE starling_prefix_of_pc)
  configure_file(${PROJECT_SOURCE_DIR}/clients/c/starling.pc.in ${PROJECT_BINARY_DIR}/starling.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/starling.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
if(STARLING_CUDA)
  set_target_properties(starling_gpu PROPERTIES EXPORT_NAME cuda)
  add_library(starling::cuda ALIAS starling_gpu)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME cuda_development)
  starling_install(cuda starling_gpu)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
endif()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/starlingConfig.cmake.in
  ${PROJECT_BINARY_DIR}/starlingConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/starlingConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/starlingConfig.cmake
              ${PROJECT_BINARY_DIR}/starlingConfigVersion.cmake
        DESTINATION ${package_dir})

if(NOT STARLING_ENGINE_ONLY)
  # The tarball has its libraries in lib/starling. The build uses the same search path, because CMake would
  # otherwise reserve space for it with empty entries, which mean the current folder. DT_RPATH, unlike
  # DT_RUNPATH, also applies to the libraries that the libraries load.
  file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_PREFIX}/lib/starling)
  set_target_properties(starling PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}"
                                            BUILD_WITH_INSTALL_RPATH ON)
  target_link_options(starling PRIVATE LINKER:--disable-new-dtags)
  install(TARGETS starling RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  if(STARLING_CUDA)
    install(TARGETS starling_cuda_plugin
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/starling COMPONENT cuda)
  endif()
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# These two files define the wire format for clients in any language.
install(FILES ${PROJECT_SOURCE_DIR}/protocol/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/wire)
install(FILES ${PROJECT_SOURCE_DIR}/protocol/wire/starling.fbs
        DESTINATION ${CMAKE_INSTALL_DATADIR}/starling)
