# find_package(Revet): the target Revet::revet and the function revet_add_plugin.
include(${CMAKE_CURRENT_LIST_DIR}/../Revet/RevetTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/../Revet/RevetPlugin.cmake)
set(REVET_EXECUTABLE ${CMAKE_CURRENT_LIST_DIR}/../../../bin/revet)
