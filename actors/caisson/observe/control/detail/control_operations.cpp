#include <caisson/observe/control/detail/control_operations.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace caisson::detail {

namespace {

// A reload asks each gate twice, and gives it 30 s each time.
constexpr duration reload_patience = std::chrono::minutes(2);

} // namespace

/// Waits for the answer to one request that may take long. Several threads may.
class late_answer {
public:
  late_answer(caf::actor_system& sys, const caf::actor& target,
              caf::message content)
    : address_(portable::make_relay<inlet>(sys, sys.next_actor_id())) {
    portable::relay::send_on(target, address_,
                             caf::message_id{1}.with_high_priority(),
                             std::move(content), nullptr);
  }

  ~late_answer() { inlet_of(address_).close(); }

  late_answer(const late_answer&) = delete;
  late_answer& operator=(const late_answer&) = delete;

  /// Nothing if it is not there by then; `give_up` is looked at from time to
  /// time.
  std::optional<caf::message> wait(duration patience,
                                   const std::atomic<bool>& give_up) {
    return inlet_of(address_).wait(patience, give_up);
  }

  [[nodiscard]] bool is_there() const { return inlet_of(address_).is_there(); }

private:
  class inlet final : public portable::relay {
  public:
    explicit inlet(caf::actor_config& cfg) : portable::relay(cfg) {}

    std::optional<caf::message> wait(duration patience,
                                     const std::atomic<bool>& give_up) {
      using clock = std::chrono::steady_clock;
      constexpr auto step = std::chrono::milliseconds(100);
      const auto until = clock::now() + patience;
      std::unique_lock guard{mutex_};
      while (!content_ && !give_up && clock::now() < until)
        arrived_.wait_until(guard, std::min(until, clock::now() + step));
      return content_;
    }

    bool is_there() {
      std::lock_guard guard{mutex_};
      return content_.has_value();
    }

  protected:
    bool receive(caf::mailbox_element_ptr what,
                 portable::run_context*) override {
      if (!what->mid.is_response())
        return drop(*what);
      {
        std::lock_guard guard{mutex_};
        if (content_)
          return false;
        content_ = content_of(*what);
      }
      arrived_.notify_all();
      return true;
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::optional<caf::message> content_;
  };

  static inlet& inlet_of(const caf::strong_actor_ptr& x) {
    return *static_cast<inlet*>(x->get());
  }

  caf::strong_actor_ptr address_;
};

control_operations::control_operations(caf::actor_system& sys,
                                       duration patience, std::size_t events)
  : sys_(sys), patience_(patience), tail_(sys, events) {}

control_operations::~control_operations() = default;

void control_operations::close() {
  closed_ = true;
  tail_.close();
}

// -- status -------------------------------------------------------------------

json control_operations::list() {
  auto all = gates_.all();
  std::vector<caf::actor> gates;
  gates.reserve(all.size());
  for (const auto& [name, gate] : all)
    gates.push_back(gate);
  auto answers = ask_all<status>(gates, patience_, get_status{});
  auto out = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& name = all[i].first;
    json row{{"name", name}};
    if (answers[i])
      row.update(summary_of(*answers[i]));
    else
      row["error"] = refusal(answers[i].error(), name, patience_).text();
    out.push_back(std::move(row));
  }
  return {{"gates", std::move(out)}};
}

json control_operations::show(const std::string& gate) {
  return status_after(gate, get_status{});
}

event_tail::part
control_operations::events(std::optional<event_tail::position> from,
                           duration patience) {
  auto all = [this] {
    std::vector<control_handle> out;
    for (auto& [name, gate] : gates_.all())
      out.push_back(std::move(gate));
    for (auto& x : gates_.controllers())
      out.emplace_back(std::move(x));
    return out;
  };
  return tail_.read(all, from, patience);
}

// -- changing -----------------------------------------------------------------

json control_operations::carry_out(const std::string& gate,
                                   const command& what) {
  return status_after(gate, what);
}

json control_operations::change(const std::string& gate,
                                const reconfigure& what) {
  return status_after(gate, what);
}

json control_operations::drain(const std::string& gate, duration patience) {
  auto handle = find(gate);
  auto late = send_drain(handle);
  auto answer = late->wait(patience, closed_);
  if (auto* why = answer ? portable::get_if<caf::error>(*answer) : nullptr) {
    forget_drain(handle, late);
    throw refusal(*why, gate, patience);
  }
  return {{"name", gate}, {"drained", answer.has_value()}};
}

// So that whoever tries again does not get the same error.
void control_operations::forget_drain(
  const control_handle& gate, const std::shared_ptr<late_answer>& answer) {
  std::lock_guard guard{mutex_};
  if (auto i = draining_.find(gate.id());
      i != draining_.end() && i->second == answer)
    draining_.erase(i);
}

std::shared_ptr<late_answer>
control_operations::send_drain(const control_handle& gate) {
  std::lock_guard guard{mutex_};
  // Those of other gates, which nobody may ask for any more.
  std::erase_if(draining_, [&](auto& x) {
    return x.first != gate.id() && x.second->is_there();
  });
  auto& x = draining_[gate.id()];
  if (!x)
    x = std::make_shared<late_answer>(sys_, gate,
                                      caf::make_message(caisson::drain{}));
  return x;
}

json control_operations::reload(const std::string& why) {
  auto all = gates_.controllers();
  if (all.empty())
    throw control_error{409, "no gate of this program comes from a file, so "
                             "there is nothing to reload"};
  // A program may end some of its sets before others.
  std::erase_if(all, [](const auto& x) { return portable::is_down(x); });
  if (all.empty())
    throw control_error{410, "the gates that come from files have ended"};
  auto reports = ask_all<reload_report>(all, reload_patience,
                                        caisson::reload{why});
  auto files = json::array();
  for (auto& x : reports)
    files.push_back(json_of(
      x ? std::move(*x)
        : reload_report{
          {refusal(x.error(), "a set of gates", reload_patience).text()}, {}}));
  return {{"files", std::move(files)}};
}

// -- gates --------------------------------------------------------------------

control_handle control_operations::find(const std::string& gate) const {
  if (auto x = gates_.find(gate))
    return x;
  std::vector<std::string> known;
  for (auto& [name, handle] : gates_.all())
    known.push_back(detail::printable(name));
  if (known.empty())
    throw control_error{404,
                        fmt::format("no gate {}: this program has no gates",
                                    detail::quoted(gate))};
  throw control_error{
    404, fmt::format("unknown gate {}{} known gates: {}", detail::quoted(gate),
                     hint(nearest(gate, known)), listed_names(known))};
}

template <class Request>
json control_operations::status_after(const std::string& gate,
                                      const Request& what) {
  json out{{"name", gate}};
  out.update(json_of(ask<status>(find(gate), gate, patience_, what)));
  return out;
}

template <class T, class Request>
T control_operations::ask(const caf::actor& target, const std::string& name,
                          duration patience, const Request& what) {
  auto answer = std::move(ask_all<T>({target}, patience, what).front());
  if (!answer)
    throw refusal(answer.error(), name, patience);
  return std::move(*answer);
}

// All of them at once, so that those that do not answer cost their time only
// once.
template <class T, class Request>
std::vector<caf::expected<T>>
control_operations::ask_all(const std::vector<caf::actor>& targets,
                            duration patience, const Request& what) {
  caf::scoped_actor self{sys_};
  using pending = decltype(portable::ask_urgently(self, targets.front(),
                                                  patience, what));
  std::vector<pending> answers;
  answers.reserve(targets.size());
  for (const auto& x : targets)
    answers.push_back(portable::ask_urgently(self, x, patience, what));
  std::vector<caf::expected<T>> out;
  for (auto& x : answers)
    // CAF 1.x wants the handle for good; for 0.17 a move has no effect.
    static_cast<pending&&>(x).receive(
      [&](const T& value) { out.emplace_back(value); },
      [&](const caf::error& why) { out.emplace_back(why); });
  return out;
}

control_error control_operations::refusal(const caf::error& why,
                                          const std::string& name,
                                          duration patience) const {
  if (why == caf::sec::request_timeout)
    return {504, fmt::format("{} does not answer within {}", name,
                             rounded_text(patience))};
  if (auto* context = context_of(why))
    return {400, context->text.empty() ? to_text(why) : context->text};
  return {410, fmt::format("{} has ended", name)};
}

} // namespace caisson::detail
