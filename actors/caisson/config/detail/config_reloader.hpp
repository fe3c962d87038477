// The actor behind a set of gates: reads their file again.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/caf/status.hpp>
#include <caisson/config/detail/gate_directory.hpp>
#include <caisson/config/detail/managed_gates.hpp>
#include <caisson/config/detail/managed_groups.hpp>
#include <caisson/config/gate_file.hpp>
#include <caisson/gate/worker_names.hpp>
#include <caisson/stack/stack_replacement.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace caisson::detail {

/// Reloads one at a time: reads and checks the file, asks each gate whether it
/// could take its new stack, spawns the gates that are new, and only then, when
/// nothing can be refused any more, orders all gates and groups to change over.
/// Gates that are not in the file any more are drained and stopped. What is
/// asked for meanwhile is one further reload. When it ends, so do its gates.
class config_reloader final : public caf::event_based_actor {
public:
  struct parts {
    std::filesystem::path file;
    worker_names known;
    std::shared_ptr<gate_directory> directory;
    managed_gates gates;
    group_handles groups;
  };

  config_reloader(caf::actor_config& cfg, parts x);

  const char* name() const override { return "caisson.gate_set"; }

  caf::behavior make_behavior() override;
  void on_exit() override;

private:
  using promise = caf::typed_response_promise<reload_report>;

  /// A reload in progress.
  struct round {
    std::string why;
    std::vector<promise> waiting;
    gate_file next;
    /// What the gates get that stay.
    std::map<std::string, std::shared_ptr<const stack_replacement>, std::less<>>
      replacements;
    reload_report report;
    /// Gates that were found to have ended.
    std::set<std::string> ended;
    /// Gates that were found to keep what they had, although they were to
    /// change.
    std::set<std::string> unchanged;
    /// Of these the ones that may have changed nevertheless.
    std::set<std::string> unconfirmed;
    /// Gates and groups that were made for this.
    managed_gates fresh;
    group_handles fresh_groups;
    /// How many gates and groups have not answered.
    std::size_t open = 0;
  };

  promise take(const reload& x);
  void begin();
  void make_replacements(problems& found);
  void check_gates();
  void on_checked(const std::string& gate, const caf::error* why);
  void make_new_gates();
  void swap_gates();
  void change_groups();
  void change_group(const std::string& group, const status& now);
  void on_group(const std::string& group, const caf::error* why);
  void on_swapped(const std::string& gate, std::vector<layer_change> changes);
  void on_unchanged(const std::string& gate, const caf::error& why);
  void finish_swap();
  void finish_groups();
  void let_go(control_handle handle);
  void refuse(const problems& found);
  void finish();

  /// Whether the gate runs and stays.
  [[nodiscard]] bool goes_on(const std::string& gate) const;
  [[nodiscard]] std::string text_of(const caf::error& why) const;
  void publish();

  caf::result<void> add_subscriber();
  void notify(const gate_change& x, const std::string& to);

  const std::filesystem::path file_;
  const worker_names known_;
  const std::shared_ptr<gate_directory> directory_;
  managed_gates gates_;
  group_handles groups_;
  /// Those that finish what they have.
  std::map<std::uint64_t, control_handle> leaving_;
  std::uint64_t left_ = 0;
  std::optional<round> round_;
  /// Those who wait for the next reload, and why they want it.
  std::vector<promise> queue_;
  std::optional<std::string> queued_;
  std::vector<caf::actor> subscribers_;
  std::uint64_t events_ = 0;
  /// Keeps this alive while somebody waits.
  caf::strong_actor_ptr self_;
};

} // namespace caisson::detail
