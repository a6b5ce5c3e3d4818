# adrev-port.cmake - keeps what adrev-port writes up to date.
#
#     include(path/to/adrev/port/adrev-port.cmake)
#     adrev_port(OUTPUT model_ad.h SOURCE model.c
#                FUNCTION energy WITH x:n
#                [OPTIONS --number ad_fwd] [FLAGS -DN=3])
#     target_sources(program PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/model_ad.h)
#
# OUTPUT is relative to the build folder. A copy of it beside SOURCE is used
# where there is no clang or no adrev-port.
#
# SPDX-License-Identifier: MIT-0

find_program(ADREV_PORT adrev-port HINTS ${CMAKE_CURRENT_LIST_DIR}/../build)
find_program(ADREV_PORT_CLANG clang)

function(adrev_port)
  cmake_parse_arguments(A "" "OUTPUT;SOURCE" "FUNCTION;WITH;OF;OPTIONS;FLAGS"
                        ${ARGN})
  get_filename_component(source ${A_SOURCE} ABSOLUTE)
  get_filename_component(folder ${source} DIRECTORY)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${A_OUTPUT})
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
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${ADREV_PORT} ${source} ${arguments} ${A_OPTIONS}
              --clang ${ADREV_PORT_CLANG} -o ${output} -- ${A_FLAGS}
      DEPENDS ${source} ${ADREV_PORT}
      IMPLICIT_DEPENDS C ${source}
      VERBATIM)
  elseif(EXISTS ${folder}/${A_OUTPUT})
    configure_file(${folder}/${A_OUTPUT} ${output} COPYONLY)
  else()
    message(FATAL_ERROR "adrev-port or clang is missing: cannot make ${A_OUTPUT}")
  endif()
endfunction()
