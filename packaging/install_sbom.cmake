# SPDX-License-Identifier: Apache-2.0
# Writes the list of the libraries that a program or a library loads, with the versions of their
# packages, as SPDX 2.3: sbom.spdx.json in the folder of the documents. The list has no header-only
# libraries. Run by an install rule, which sets starling_built (the file), starling_name,
# starling_documents, starling_version and starling_static: libraries inside the file, each "name
# version".
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/linked_libraries.cmake)

set(packages "")
set(relations "")
set(seen "")
foreach(library IN LISTS starling_static)
  string(REGEX MATCH "^([^ ]+) (.+)$" library "${library}")
  string(APPEND packages ",
    {
      \"SPDXID\": \"SPDXRef-${CMAKE_MATCH_1}\",
      \"name\": \"${CMAKE_MATCH_1}\",
      \"versionInfo\": \"${CMAKE_MATCH_2}\",
      \"downloadLocation\": \"NOASSERTION\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"NOASSERTION\",
      \"licenseDeclared\": \"NOASSERTION\",
      \"copyrightText\": \"NOASSERTION\"
    }")
  string(APPEND relations ",
    {
      \"spdxElementId\": \"SPDXRef-${starling_name}\",
      \"relationshipType\": \"STATIC_LINK\",
      \"relatedSpdxElement\": \"SPDXRef-${CMAKE_MATCH_1}\"
    }")
endforeach()
starling_linked_libraries(libraries ${starling_built})
foreach(library IN LISTS libraries)
  get_filename_component(file ${library} NAME)
  starling_package_of(package ${library})
  set(reference "")
  if(package MATCHES "^([^ ]+) (.+)$")
    set(name ${CMAKE_MATCH_1})
    set(version ${CMAKE_MATCH_2})
    string(REPLACE "+" "%2B" escaped "pkg:deb/debian/${name}@${version}")
    set(reference ",
      \"externalRefs\": [{
        \"referenceCategory\": \"PACKAGE-MANAGER\",
        \"referenceType\": \"purl\",
        \"referenceLocator\": \"${escaped}\"
      }]")
  else()
    set(name ${file})
    set(version NOASSERTION)
  endif()
  if(name IN_LIST seen)
    continue()
  endif()
  list(APPEND seen ${name})
  string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" id "SPDXRef-${name}")
  string(APPEND packages ",
    {
      \"SPDXID\": \"${id}\",
      \"name\": \"${name}\",
      \"versionInfo\": \"${version}\",
      \"downloadLocation\": \"NOASSERTION\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"NOASSERTION\",
      \"licenseDeclared\": \"NOASSERTION\",
      \"copyrightText\": \"NOASSERTION\"${reference}
    }")
  string(APPEND relations ",
    {
      \"spdxElementId\": \"SPDXRef-${starling_name}\",
      \"relationshipType\": \"DYNAMIC_LINK\",
      \"relatedSpdxElement\": \"${id}\"
    }")
endforeach()

string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC)
file(SHA256 ${starling_built} program_hash)
file(WRITE $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${starling_documents}/sbom.spdx.json "{
  \"spdxVersion\": \"SPDX-2.3\",
  \"dataLicense\": \"CC0-1.0\",
  \"SPDXID\": \"SPDXRef-DOCUMENT\",
  \"name\": \"${starling_name}-${starling_version}\",
  \"documentNamespace\": \"urn:sha256:${program_hash}\",
  \"creationInfo\": {
    \"created\": \"${created}\",
    \"creators\": [\"Tool: starling-${starling_version}\"]
  },
  \"packages\": [
    {
      \"SPDXID\": \"SPDXRef-${starling_name}\",
      \"name\": \"${starling_name}\",
      \"versionInfo\": \"${starling_version}\",
      \"downloadLocation\": \"NOASSERTION\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"Apache-2.0\",
      \"licenseDeclared\": \"Apache-2.0\",
      \"copyrightText\": \"2026 The Starling developers\"
    }${packages}
  ],
  \"relationships\": [
    {
      \"spdxElementId\": \"SPDXRef-DOCUMENT\",
      \"relationshipType\": \"DESCRIBES\",
      \"relatedSpdxElement\": \"SPDXRef-${starling_name}\"
    }${relations}
  ]
}
")
