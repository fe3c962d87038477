// Sets of gates on the real scheduler, from texts.
#pragma once

#include <caisson/config/gate_set.hpp>
#include <caisson/gate.hpp>

#include <support/scratch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace caisson::test {

/// Workers called `echo` answer an int with itself, and fail now and then.
class real_gates : public testing::Test {
protected:
  real_gates() {
    portable::set_threads(cfg, 3);
    sys = std::make_unique<caf::actor_system>(cfg);
    names.add_factory("echo", [](caf::actor_system& home) {
      return caf::expected<caf::actor>{home.spawn(answer)};
    });
  }

  static caf::behavior answer(caf::event_based_actor*) {
    return {[](int x) -> caf::result<int> {
      if (x % 11 == 0)
        return caf::make_error(caf::sec::end_of_stream);
      return x;
    }};
  }

  static constexpr auto patience = std::chrono::seconds(60);

  void write(const std::string& text) { dir.write("gates.toml", text); }

  /// Asks for a reload and waits for it.
  reload_report load() {
    caf::scoped_actor self{*sys};
    reload_report out;
    portable::ask_blocking(self, gates.controller(), patience, reload{})
      .receive(
        [&](reload_report& x) { out = std::move(x); },
        [&](caf::error& x) { out.problems = {portable::render(*sys, x)}; });
    return out;
  }

  status look(const caf::actor& gate) {
    caf::scoped_actor self{*sys};
    status out;
    portable::ask_urgently(self, gate, patience, get_status{})
      .receive(
        [&](status& x) { out = std::move(x); },
        [&](caf::error& x) { ADD_FAILURE() << portable::render(*sys, x); });
    return out;
  }

  scratch_dir dir;
  system_config cfg;
  std::unique_ptr<caf::actor_system> sys;
  worker_names names;
  gate_set gates;
};

} // namespace caisson::test
