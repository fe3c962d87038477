// Forward declarations for headers of config structs, which only name these.
#pragma once

#include <vector>

namespace caisson {

class field_visitor;
class setting_path;
struct problem;
using problems = std::vector<problem>;

template <class E>
struct enum_names;
template <class T>
struct field_value_for;

} // namespace caisson
