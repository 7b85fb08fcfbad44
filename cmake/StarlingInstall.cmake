# `cmake --install`: the program, and the libraries a user links: starling::cpu with starling::knn
# to embed the engine, starling::protocol to talk to a server. tests/house/embedding uses it so.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/starling)

# Users write <starling/knn/processor.hpp>; the headers themselves write "knn/tables/processor.hpp", so
# both include/ and include/starling/ are on the search path. Only what users may include goes out.
set(installed_headers_knn "*.hpp")
set(installed_headers_cpu "cpu_engine.hpp")
set(installed_headers_protocol "*.hpp")
foreach(folder knn cpu protocol)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/starling/${folder}
          FILES_MATCHING PATTERN "${installed_headers_${folder}}"
          PATTERN "wire.hpp" EXCLUDE PATTERN "check.hpp" EXCLUDE PATTERN "connection.hpp" EXCLUDE)
endforeach()

install(TARGETS starling_knn starling_cpu EXPORT starling_embedding
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS starling_protocol EXPORT starling_protocol
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT starling_embedding FILE starlingEmbeddingTargets.cmake NAMESPACE starling::
        DESTINATION ${package_dir})
install(EXPORT starling_protocol FILE starlingProtocolTargets.cmake NAMESPACE starling::
        DESTINATION ${package_dir})

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

install(TARGETS starling RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
