# SPDX-License-Identifier: Apache-2.0
# Installs the pages that alerts, help texts and errors name, under the paths that they name:
# docs/limits.md is share/doc/starling/docs/limits.md. tests/packaging/documents_test.py includes this file alone.
set(documents_source ${CMAKE_CURRENT_LIST_DIR}/..)
install(DIRECTORY ${documents_source}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        COMPONENT program
        FILES_MATCHING PATTERN "*.md" PATTERN "openapi.json" PATTERN "page.png"
        PATTERN "decisions" EXCLUDE PATTERN "measurements" EXCLUDE PATTERN "site" EXCLUDE)
install(FILES ${documents_source}/protocol/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/protocol COMPONENT program)
install(FILES ${documents_source}/SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES ${documents_source}/packaging/prometheus/prometheus.yml
              ${documents_source}/packaging/prometheus/starling.rules.yml
              ${documents_source}/packaging/grafana/starling.json
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT program)
