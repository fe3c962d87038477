// Carries out what an operator asks for.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/observe/control/detail/event_tail.hpp>
#include <caisson/observe/control/detail/gate_table.hpp>
#include <caisson/observe/control/detail/status_json.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::detail {

/// Why something was not done, with the status of HTTP that says so.
class control_error : public std::runtime_error {
public:
  control_error(std::int32_t status, const std::string& why)
    : std::runtime_error(why), status_(status), text_(why) {}

  [[nodiscard]] std::int32_t status() const noexcept { return status_; }

  /// The whole reason: that of `what` ends at the first NUL.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
  std::int32_t status_;
  std::string text_;
};

class late_answer;

/// Asks gates, and waits for their answers. Its functions may be called by
/// several threads at once, and throw `control_error`.
class control_operations {
public:
  /// Gates have so much time to answer.
  control_operations(caf::actor_system& sys, duration patience,
                     std::size_t events);
  ~control_operations();

  control_operations(const control_operations&) = delete;
  control_operations& operator=(const control_operations&) = delete;

  gate_table& gates() noexcept { return gates_; }

  /// Each with its name. A gate that does not answer says why instead.
  [[nodiscard]] json list();

  [[nodiscard]] json show(const std::string& gate);

  /// These return the new status.
  [[nodiscard]] json carry_out(const std::string& gate, const command& what);
  [[nodiscard]] json change(const std::string& gate, const reconfigure& what);

  /// Says whether the gate has finished its last call by then. Asked again, it
  /// goes on waiting: the gate is notified once.
  [[nodiscard]] json drain(const std::string& gate, duration patience);

  /// Lets all files be read again.
  [[nodiscard]] json reload(const std::string& why);

  [[nodiscard]] event_tail::part
  events(std::optional<event_tail::position> from, duration patience);

  /// Those who wait for events or for drained gates wait no more.
  void close();

private:
  [[nodiscard]] std::shared_ptr<late_answer>
  send_drain(const control_handle& gate);
  void forget_drain(const control_handle& gate,
                    const std::shared_ptr<late_answer>& answer);

  [[nodiscard]] control_handle find(const std::string& gate) const;

  /// The gate's answer to what is answered with a status.
  template <class Request>
  [[nodiscard]] json status_after(const std::string& gate, const Request& what);

  /// The answer of `target`, which is called `name`.
  template <class T, class Request>
  T ask(const caf::actor& target, const std::string& name, duration patience,
        const Request& what);

  /// The answers of all of them, or why there is none.
  template <class T, class Request>
  std::vector<caf::expected<T>> ask_all(const std::vector<caf::actor>& targets,
                                        duration patience, const Request& what);

  [[nodiscard]] control_error refusal(const caf::error& why,
                                      const std::string& name,
                                      duration patience) const;

  caf::actor_system& sys_;
  const duration patience_;
  gate_table gates_;
  event_tail tail_;
  std::atomic<bool> closed_{false};

  std::mutex mutex_;
  /// The gates that have to drain and have not finished.
  std::map<caf::actor_id, std::shared_ptr<late_answer>> draining_;
};

} // namespace caisson::detail
