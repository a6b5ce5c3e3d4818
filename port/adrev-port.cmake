# adrev-port.cmake - keeps what adrev-port writes up to date.
#
#     include(path/to/adrev/port/adrev-port.cmake)
#     adrev_port(OUTPUT model_ad.h SOURCE model.c [force.c ...]
#                FUNCTION energy WITH x:n
#                [OPTIONS --number ad_fwd] [FLAGS -DN=3])
#     target_sources(program PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/model_ad.h)
#     target_include_directories(program PRIVATE ${CMAKE_CURRENT_BINARY_DIR}
#                                ${CMAKE_CURRENT_SOURCE_DIR})
#
# OUTPUT is relative to the build folder; what it includes is beside the sources.
# Of several sources those are read that are needed. Where there is no clang or no
# adrev-port, a copy of OUTPUT in the folder `ported` beside the first is used. It
# must not be beside the sources: #include "model_ad.h" would find it there, and
# not the one that is kept up to date.
#
# SPDX-License-Identifier: MIT-0

find_program(ADREV_PORT adrev-port HINTS ${CMAKE_CURRENT_LIST_DIR}/../build)
find_program(ADREV_PORT_CLANG clang)

function(adrev_port)
  cmake_parse_arguments(A "" "OUTPUT" "SOURCE;FUNCTION;WITH;OF;OPTIONS;FLAGS"
                        ${ARGN})
  set(sources)
  foreach(s ${A_SOURCE})
    get_filename_component(s ${s} ABSOLUTE)
    list(APPEND sources ${s})
  endforeach()
  list(GET sources 0 first)
  get_filename_component(folder ${first} DIRECTORY)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${A_OUTPUT})
  if(EXISTS ${folder}/${A_OUTPUT} AND NOT folder STREQUAL CMAKE_CURRENT_BINARY_DIR)
    message(FATAL_ERROR "${folder}/${A_OUTPUT} would be included in place of the "
            "one that is made: move it to ${folder}/ported")
  endif()
  set(arguments)
  foreach(f ${A_FUNCTION})
    list(APPEND arguments --function ${f})
  endforeach()
  foreach(w ${A_WITH})
    list(APPEND arguments --with ${w})
  endforeach()
  foreach(o ${A_OF})
    list(APPEND arguments --of ${o})
  endforeach()
  if(ADREV_PORT AND ADREV_PORT_CLANG)
    # What is included is known to the tool; older CMakes look for it.
    if(CMAKE_GENERATOR MATCHES "Ninja" OR NOT CMAKE_VERSION VERSION_LESS 3.20)
      set(headers DEPFILE ${output}.d)
    else()
      set(headers IMPLICIT_DEPENDS C ${first})
    endif()
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${ADREV_PORT} ${sources} ${arguments} ${A_OPTIONS}
              --clang ${ADREV_PORT_CLANG} -o ${output} --depend ${output}.d
              -- ${A_FLAGS}
      DEPENDS ${sources} ${ADREV_PORT}
      ${headers}
      VERBATIM)
  elseif(EXISTS ${folder}/ported/${A_OUTPUT})
    configure_file(${folder}/ported/${A_OUTPUT} ${output} COPYONLY)
  else()
    message(FATAL_ERROR "adrev-port or clang is missing: cannot make ${A_OUTPUT}")
  endif()
endfunction()
