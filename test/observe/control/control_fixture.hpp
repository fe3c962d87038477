// Commands of an operator to gates, without a network.
#pragma once

#include <caisson/observe/control/detail/control_routes.hpp>

#include <support/real_gates.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace caisson::test {

/// A set of gates from a file, whose requests carry the right token.
class control_test : public real_gates {
protected:
  using json = nlohmann::ordered_json;

  control_test() : operations(*sys, std::chrono::seconds(30), 100) {}

  ~control_test() override { operations.close(); }

  void start(const std::string& text) {
    write(text);
    gates = spawn_gates(*sys, dir / "gates.toml", names);
    operations.gates().add(
      {[g = gates] { return g.names(); },
       [g = gates](std::string_view x) { return g.find(x); },
       gates.controller()});
  }

  http_response ask(const std::string& method, const std::string& target,
                    const std::string& body = {}) {
    return detail::answer_operator(
      operations, {method, target, {{"Authorization", "Bearer secret"}}, body},
      access);
  }

  /// The body of an answer with that status.
  json expect(int status, const std::string& method, const std::string& target,
              const std::string& body = {}) {
    auto x = ask(method, target, body);
    EXPECT_EQ(x.status, status) << method << ' ' << target << ' ' << x.body;
    auto out = json::parse(x.body, nullptr, false);
    EXPECT_TRUE(out.is_object()) << x.body;
    return out;
  }

  /// The error of an answer with that status.
  std::string refused(int status, const std::string& method,
                      const std::string& target, const std::string& body = {}) {
    return expect(status, method, target, body).value("error", "");
  }

  std::string answer_of(const std::string& gate, int x) {
    caf::scoped_actor self{*sys};
    std::string out;
    portable::ask_blocking(self, gates.calls(gate), patience, x)
      .receive([&](int y) { out = std::to_string(y); },
               [&](const caf::error& e) {
                 auto* context = context_of(e);
                 out = context ? std::string{name_of(errc{e.code()})} : "error";
               });
    return out;
  }

  static constexpr auto two_gates = R"([gates.payments]
worker = "echo"
[[gates.payments.layer]]
kind = "deadline"
timeout = "10s"
[[gates.payments.layer]]
kind = "breaker"
threshold = 2
open = "1h"

[gates."a b/ü"]
worker = "echo"
)";

  detail::control_operations operations;
  detail::control_access access{"secret"};
};

} // namespace caisson::test
