// What the readers of one arm share. The parts of a file are read one by one;
// the names that they mention are looked up when all are known.
#pragma once

#include <sim/scenario/parse_helpers.hpp>
#include <sim/scenario/scenario.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// A call, or what a load asks for: where it stands in the file.
struct call_site {
  /// A service or a load.
  std::string caller;
  /// The operation that makes the call; empty for a load.
  std::string operation;
  /// What is called.
  std::string to;
  /// How often, at most.
  std::uint32_t count = 1;
  std::string key;
  std::string place;
};

/// Another name that is mentioned.
struct name_use {
  std::string name;
  std::string key;
  std::string place;
};

/// An arm while it is read.
struct parse_context {
  /// The merged tree.
  const settings& root;
  /// The name of the file, the place of what is missing altogether.
  std::string_view source;
  /// Where traces are looked for.
  const std::filesystem::path& base;
  arm_config& arm;
  problems& out;
  /// How many problems other arms have already.
  std::size_t known_problems = 0;

  std::vector<call_site> calls = {};
  /// Names that must be those of services.
  std::vector<name_use> services = {};
  /// Names that must be those of services or loads.
  std::vector<name_use> callers = {};
  /// Names that must be those of services or operations.
  std::vector<name_use> targets = {};
  /// Names that must be those of stacks.
  std::vector<name_use> stacks = {};
  /// The entry of `[[edge]]` for each of the arm's edges.
  std::vector<name_use> edges = {};

  /// The table `key` of the root; null if there is none.
  [[nodiscard]] const settings* table(std::string_view key);
  /// The list `key` of the root; null if there is none.
  [[nodiscard]] const std::vector<setting>* list(std::string_view key);

  /// Whether a problem that is found next is reported in full, or only counted.
  [[nodiscard]] bool detailed() const;

  /// `"dv" is no service, did you mean "db"? known services: web, db`; without
  /// what it could be if it is only counted, as looking for that takes time.
  [[nodiscard]] std::string
  no_such(std::string_view what, std::string_view name,
          const std::vector<std::string>& known) const;

  /// Remembers the name of a stack that `from` gives under `stack`.
  void use_stack(const section& from, const std::string& name);
};

} // namespace caisson::sim
