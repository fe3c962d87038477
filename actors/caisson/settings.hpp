// Settings: descriptions of configs, problems, values as text.
#pragma once

#include <caisson/settings/settings.hpp>
#include <caisson/settings/settings_table.hpp>
