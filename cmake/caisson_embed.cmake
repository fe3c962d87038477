# Writes files into a C++ source, as constants: to be run with cmake -P.
#
#   OUT        the source to write
#   HEADER     the header that declares the constants
#   NAMESPACE  that they are in
#   PARTS      NAME=FILE,FILE,… of each constant, separated by |

set(text "// Written by cmake/caisson_embed.cmake.\n"
  "#include <${HEADER}>\n\n"
  "namespace ${NAMESPACE} {\n\n")
string(CONCAT text ${text})

string(REPLACE "|" ";" PARTS "${PARTS}")
foreach(part IN LISTS PARTS)
  string(REGEX REPLACE "=.*" "" name "${part}")
  string(REGEX REPLACE "^[^=]*=" "" paths "${part}")
  string(REPLACE "," ";" paths "${paths}")
  set(content "")
  foreach(path IN LISTS paths)
    file(READ "${path}" one)
    # A map of the source is not there for those who open a page.
    string(REGEX REPLACE "/[/*][#@] sourceMappingURL=[^\n]*" "" one "${one}")
    string(FIND "${one}" ")caisson_part\"" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${path} cannot be embedded")
    endif()
    string(APPEND content "${one}")
  endforeach()
  string(APPEND text
    "const std::string_view ${name} = R\"caisson_part(${content})caisson_part\";\n\n")
endforeach()

string(APPEND text "} // namespace ${NAMESPACE}\n")
file(WRITE ${OUT} "${text}")
