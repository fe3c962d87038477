// Sets of gates in virtual time, from texts.
#pragma once

#include <caisson/config/gate_set.hpp>

#include <support/scratch.hpp>
#include <support/words.hpp>
#include <support/world.hpp>

#include <string>
#include <utility>

namespace caisson::test {

/// A set of gates from a file that a test writes. Workers called `doubles`
/// answer an int with its double, each gate with its own; `mute` is one worker
/// that the test answers for.
class gate_set_world : public world_test {
protected:
  void SetUp() override {
    names.add_factory("doubles", [this](caf::actor_system&) {
      ++worker_count;
      return caf::expected<caf::actor>{
        scripted_worker{world, test::doubles()}.handle()};
    });
    names.add("mute", worker{mute.handle()});
    owned.push_back(mute.handle());
  }

  void TearDown() override {
    gates = {};
    world.run_until_idle();
    world_test::TearDown();
  }

  void start(const std::string& text) {
    dir.write("gates.toml", text);
    gates = spawn_gates(world, file(), names);
    world.run_until_idle();
  }

  [[nodiscard]] std::filesystem::path file() const {
    return dir / "gates.toml";
  }

  reload_report load(const std::string& text) {
    dir.write("gates.toml", text);
    return world.request(gates.controller(), reload{}).value<reload_report>();
  }

  /// The changes, a line each: `gate layer: what`.
  static lines changes_of(const reload_report& x) {
    EXPECT_TRUE(x.ok()) << x.problems.front();
    lines out;
    for (const auto& c : x.changes)
      out.push_back(c.gate + (c.layer.empty() ? "" : " ") + c.layer + ": "
                    + c.what);
    return out;
  }

  scratch_dir dir;
  worker_names names;
  scripted_worker mute{world};
  gate_set gates;
  int worker_count = 0;
};

} // namespace caisson::test
