// An operator's acts on the gates of one program.
#pragma once

#include <ctl/command.hpp>
#include <ctl/connection.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace caisson::ctl {

/// Options as they were given.
struct arguments {
  std::string file;
  std::string gate;
  std::vector<std::string> gates;
  std::vector<std::string> kinds;
  std::string layer;
  std::string for_time;
  std::string wait = "30s";
  std::string why = "caisson ctl";
  std::vector<std::string> set;
  std::string every;
  std::string count;
  bool watch = false;
  bool settings = false;
  bool json = false;
};

/// Each function does one thing and prints what has become of it. They throw
/// `ctl_error`, and `CLI::ValidationError` for options that make no sense.
class session {
public:
  session(const arguments& args, std::ostream& out, std::ostream& err,
          const ctl_parts& parts);

  void list();
  void show();
  /// `word` is the name of an `operator_command`.
  void carry_out(const std::string& word);
  void set();
  void drain();
  void reload();
  void page();
  void events();

private:
  using json = nlohmann::ordered_json;

  [[nodiscard]] std::string target(const std::string& what = {}) const;
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  void print(const json& answer, const std::function<std::string()>& view);
  void repeat(const std::function<json(const json& before)>& draw);
  [[nodiscard]] std::vector<std::string> stacks();
  void note_missed(const json& missed);
  bool print_event(const json& x, const std::vector<std::string>& stacks);
  void require_layer(const json& gate) const;
  void require_gate(const json& answer) const;
  [[nodiscard]] std::string layer_with(const std::set<std::string>& keys);
  void flush();

  const arguments& args_;
  std::ostream& out_;
  std::ostream& err_;
  const ctl_parts& parts_;
  connection to_;
};

} // namespace caisson::ctl
