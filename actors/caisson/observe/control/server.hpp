// Lets an operator look at the gates of a running program and control them.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/config/gate_set.hpp>
#include <caisson/settings/field.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting_path.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// Where the control server listens, and who may use it.
struct control_config {
  /// The control file: where the server writes its address and the token that
  /// each request has to bring. It is made anew when the server starts, only
  /// its owner can read it, and it is removed when the server ends. Required.
  std::string file = {};

  /// Where to listen, at 127.0.0.1 only: 0 to 65535; 0, the default: any free
  /// port.
  std::uint16_t port = 0;

  /// How long a gate may take to answer: 10ms to 1min, default 2s.
  duration patience = std::chrono::seconds(2);

  /// How many events are kept for those who follow them: 1 to 1000000, default
  /// 10000.
  std::uint32_t events = 10'000;
};

void describe(field_visitor& v, control_config& c);
void check(const control_config& c, const setting_path& path, problems& out);

/// Gates that come and go, with what reads their file again.
struct controlled_gates {
  /// The names of those that there are now. Called by several threads at once,
  /// as is the next one.
  std::function<std::vector<std::string>()> names;
  /// The gate of that name; a null handle if there is none.
  std::function<control_handle(std::string_view)> find;
  /// Takes `reload` and `subscribe`, as `gate_set::controller` does. May be
  /// null.
  caf::actor controller = {};
};

/// Serves `caisson ctl` and a page, see docs/control.md: gates can be listed,
/// looked at, changed and drained, and their events followed, by whoever can
/// read the control file. Programs on other machines cannot connect; programs
/// of other users on this one can, and learn nothing without the token.
///
///     caisson::control_server control{system, {.file = "/run/shop/control"}};
///     control.add("payments", payments);
///
/// It has threads of its own and asks gates for their status only when somebody
/// wants to know. It keeps the handles that it is given, and so the gates. Its
/// functions may be called from any thread. It must not outlive the system.
class control_server {
public:
  /// Throws `config_error` if the configuration is not valid, and
  /// `std::runtime_error` if it cannot listen, or the file cannot be written,
  /// is something else than a control file, or is that of a server that runs.
  control_server(caf::actor_system& sys, control_config c);

  /// Finishes the requests in progress, which takes as long as gates take to
  /// answer, but does not wait for drained gates or for events.
  ~control_server();

  control_server(const control_server&) = delete;
  control_server& operator=(const control_server&) = delete;

  /// Lets this gate be controlled, under that name: 1 to 1024 bytes. In its
  /// events and metrics it has the name of its stack, so better use that.
  /// Throws `config_error` if another gate has the name already.
  void add(std::string name, control_handle gate);

  /// Lets these be controlled. Of gates with the same name, that which was
  /// added first is meant. Throws `config_error` if a function is missing.
  void add(controlled_gates gates);

  /// Lets all gates of a file be controlled, and the file be read again.
  void add(const gate_set& gates) {
    add({[gates] { return gates.names(); },
         [gates](std::string_view name) { return gates.find(name); },
         gates.controller()});
  }

  /// Where it listens.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// A link to the page that shows the gates in a browser on this machine, and
  /// lets whoever opens it control them. It works once, within five minutes;
  /// the browser then has access for twelve hours. Do not write it where others
  /// can read it. `caisson ctl page` prints one, too.
  [[nodiscard]] std::string page_link();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace caisson
