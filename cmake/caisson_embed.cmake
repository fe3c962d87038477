# Writes files into a C++ source, as constants: to be run with cmake -P.
#
#   OUT      the source to write
#   HTML     the directory with page.html, style.css and the scripts
#   SCRIPTS  names of the scripts in their order, separated by blanks
#   SWEEP, SWEEP_SCRIPTS  the same of the page of a sweep
#   LIBRARY, LIBRARY_STYLE  files of the plotting library

function(paths_of names directory result)
  separate_arguments(paths UNIX_COMMAND "${names}")
  list(TRANSFORM paths PREPEND ${directory}/)
  list(TRANSFORM paths APPEND .js)
  set(${result} ${paths} PARENT_SCOPE)
endfunction()
paths_of("${SCRIPTS}" ${HTML} scripts)
paths_of("${SWEEP_SCRIPTS}" ${SWEEP} sweep_scripts)

set(text "// Written by cmake/caisson_embed.cmake.\n"
  "#include <simulator/report/html_parts.hpp>\n\n"
  "namespace caisson::sim::html_parts {\n\n")
string(CONCAT text ${text})

# A map of the source is not there for those who open a page.
function(embed name)
  set(content "")
  foreach(path IN LISTS ARGN)
    file(READ ${path} one)
    string(REGEX REPLACE "/[/*][#@] sourceMappingURL=[^\n]*" "" one "${one}")
    string(FIND "${one}" ")caisson_part\"" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${path} cannot be embedded")
    endif()
    string(APPEND content "${one}")
  endforeach()
  string(APPEND text
    "const std::string_view ${name} = R\"caisson_part(${content})caisson_part\";\n\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

embed(page ${HTML}/page.html)
embed(style ${HTML}/style.css)
embed(script ${scripts})
embed(sweep_page ${SWEEP}/page.html)
embed(sweep_style ${SWEEP}/style.css)
embed(sweep_script ${sweep_scripts})
embed(library ${LIBRARY})
embed(library_style ${LIBRARY_STYLE})

string(APPEND text "} // namespace caisson::sim::html_parts\n")
file(WRITE ${OUT} "${text}")
