# revet_add_plugin(NAME SOURCES a.cpp .. PROVIDES pass:foo .. [VERSION 1.0] [DIRECTORY dir])
#
# Builds libNAME.so, a plugin for revet: flags, the sections `.revet.abi` and `.revet.provides`, and
# the place where the host finds it. Used by this repository and, from the installed package, by
# plugins outside it. With DIRECTORY (default: the variable REVET_PLUGIN_DIRECTORY) it is built there
# and not installed.
set(REVET_PLUGIN_TEMPLATE_DIR ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")

function(revet_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;DIRECTORY" "SOURCES;PROVIDES")
  if(NOT arg_SOURCES OR NOT arg_PROVIDES)
    message(FATAL_ERROR "revet_add_plugin(${name}): SOURCES and PROVIDES are required")
  endif()
  if(NOT arg_VERSION)
    set(arg_VERSION "${PROJECT_VERSION}")
  endif()
  # NDEBUG may differ between host and plugin, so a plugin for daily use need not be a debug one.
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(revet_plugin_provides "")
  foreach(entry IN LISTS arg_PROVIDES)
    string(APPEND revet_plugin_provides "\"${entry}\\0\"\n    ")
  endforeach()
  set(sections ${CMAKE_CURRENT_BINARY_DIR}/${name}_sections.cpp)
  configure_file(${REVET_PLUGIN_TEMPLATE_DIR}/plugin_sections.cpp.in ${sections} @ONLY)

  add_library(${name} MODULE ${arg_SOURCES} ${sections})
  target_link_libraries(${name} PRIVATE Revet::revet)
  target_compile_definitions(${name} PRIVATE REVET_PLUGIN_VERSION="${arg_VERSION}")
  set_target_properties(${name} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(TARGET revet_warnings)
    target_link_libraries(${name} PRIVATE revet_warnings)
  endif()
  if(NOT arg_DIRECTORY)
    set(arg_DIRECTORY "${REVET_PLUGIN_DIRECTORY}")
  endif()
  if(arg_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${arg_DIRECTORY})
  elseif(TARGET revet_warnings)
    set_target_properties(${name} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/revet/plugins
      INSTALL_RPATH "$ORIGIN/../..")
    install(TARGETS ${name} LIBRARY DESTINATION lib/revet/plugins)
  endif()
endfunction()

# revet_add_file_tests(NAME FILES a.rir ..)
#
# A test NAME:a for each file (without `revet-backend-`), with the plugin NAME loaded: line 1 of the file is the command,
# `// RUN: revet ..`, the expected output is in FILE.expected; see RevetFileTest.cmake.
function(revet_add_file_tests plugin)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES")
  string(REGEX REPLACE "^revet-backend-" "" prefix ${plugin})
  foreach(test IN LISTS arg_FILES)
    get_filename_component(name ${test} NAME_WE)
    add_test(NAME ${prefix}:${name}
             COMMAND ${CMAKE_COMMAND} -D REVET=${REVET_EXECUTABLE} -D PLUGIN=$<TARGET_FILE:${plugin}>
                     -D TEST=${test} -P ${REVET_PLUGIN_TEMPLATE_DIR}/RevetFileTest.cmake)
  endforeach()
endfunction()
