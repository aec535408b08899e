# Runs the command on line 1 of TEST, `// RUN: revet ..`, with the plugin. What it says must be the
# text of TEST.expected: exit status, stderr (each line after "! "), stdout. %s is the file's name.
# With REVET_BLESS=1 in the environment TEST.expected is written instead: read the difference.
cmake_minimum_required(VERSION 3.25)
get_filename_component(folder ${TEST} DIRECTORY)
get_filename_component(file ${TEST} NAME)
file(STRINGS ${TEST} line LIMIT_COUNT 1)
string(REGEX REPLACE "^// RUN: revet " "" line "${line}")
string(REPLACE "%s" "${file}" line "${line}")
separate_arguments(words UNIX_COMMAND "${line}")
execute_process(COMMAND ${REVET} ${words} --plugin ${PLUGIN} --color never
                WORKING_DIRECTORY ${folder} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
string(REGEX REPLACE "([^\n]*\n)" "! \\1" err "${err}")
set(got "exit ${status}\n${err}${out}")

if("$ENV{REVET_BLESS}" STREQUAL "1")
  file(WRITE ${TEST}.expected "${got}")
  return()
endif()
file(READ ${TEST}.expected want)
if(NOT got STREQUAL want)
  message(FATAL_ERROR "revet ${line}\n--- expected\n${want}--- got\n${got}")
endif()
