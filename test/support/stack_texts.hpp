// Stacks from TOML as text, to be compared with others.
#pragma once

#include <caisson/config/stack_toml.hpp>
#include <caisson/engine/layer.hpp>

#include <support/toml_texts.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {

/// The stacks in `text`, which must be right.
inline stack_file read(std::string_view text,
                       caf::actor_system* sys = nullptr) {
  problems found;
  auto file = read_stacks(parsed(text), found, sys);
  EXPECT_EQ(to_text(found), "");
  return file;
}

/// The one stack in `text`, which must be right.
inline stack_entry only_stack(std::string_view text,
                              caf::actor_system* sys = nullptr) {
  auto file = read(text, sys);
  if (file.stacks.size() != 1)
    throw std::logic_error{"not one stack"};
  return file.stacks.begin()->second;
}

/// What is wrong with the stacks in `text`; then there must be no result.
inline std::string complaint(std::string_view text,
                             caf::actor_system* sys = nullptr) {
  problems found;
  auto file = read_stacks(parsed(text), found, sys);
  EXPECT_TRUE(found.empty() || file.stacks.empty());
  return to_text(found);
}

/// `key = value` of each row.
inline std::vector<std::string> texts_of(const std::vector<field_row>& rows) {
  std::vector<std::string> out;
  for (const auto& row : rows)
    out.push_back(row.key + " = " + row.value);
  return out;
}

/// All settings in a stack, of its gate and of its layers in their order.
inline std::vector<std::string> rows_in(const stack& s) {
  auto out = texts_of(rows_of(s.config()));
  for (const auto& x : s.build()) {
    out.push_back("[" + x->name() + ": " + std::string{x->machine().kind()}
                  + "]");
    for (auto& text : texts_of(x->config_rows()))
      out.push_back(std::move(text));
  }
  return out;
}

} // namespace caisson::test
