# adrev::adrev      headers and libadrev.a
# adrev::shared     headers and the shared library, where that was built
# adrev::headers    headers; a file of yours defines ADREV_IMPLEMENTATION
# adrev_port()      see adrev-port.cmake
#
# SPDX-License-Identifier: MIT-0

include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
get_filename_component(_adrev "${CMAKE_CURRENT_LIST_DIR}/@UP@" ABSOLUTE)
if(NOT TARGET adrev::headers)
  add_library(adrev::headers INTERFACE IMPORTED)
  set_target_properties(adrev::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_adrev}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
  add_library(adrev::adrev STATIC IMPORTED)
  set_target_properties(adrev::adrev PROPERTIES
    IMPORTED_LOCATION "${_adrev}/@LIB@/libadrev.a"
    INTERFACE_LINK_LIBRARIES adrev::headers)
  if(EXISTS "${_adrev}/@LIB@/@SONAME@")
    add_library(adrev::shared SHARED IMPORTED)
    set_target_properties(adrev::shared PROPERTIES
      IMPORTED_LOCATION "${_adrev}/@LIB@/@SONAME@"
      IMPORTED_SONAME "@SONAME@"
      INTERFACE_LINK_LIBRARIES adrev::headers)
  endif()
endif()
unset(_adrev)
include("${CMAKE_CURRENT_LIST_DIR}/adrev-port.cmake")
