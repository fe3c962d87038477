#include <ctl/top/reader.hpp>

#include <ctl/answers.hpp>
#include <ctl/top/model.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;
using steady = std::chrono::steady_clock;

constexpr auto strange_answer
  = "the program's answer is not that of a program of this version";

/// A screen that does not keep up gets the newest.
constexpr std::size_t most_updates = 8;

} // namespace

void take(top_model& to, const gate_update& update) {
  if (!update.error.empty())
    return to.lose(update.error);
  try {
    to.take_list(update.list, update.at);
    for (const auto& x : update.gates)
      if (x.error.empty())
        to.take_gate(x.name, x.answer, update.at);
      else
        to.take_gate_error(x.name, x.error);
    for (const auto& x : update.events)
      to.take_events(x);
  } catch (const ctl_error& e) {
    to.lose(e.what());
  } catch (const json::exception&) {
    to.lose(strange_answer);
  }
}

// -- asking -------------------------------------------------------------------

gate_update gate_reader::ask(const gate_selection& selection, duration time) {
  gate_update out;
  try {
    connect();
    out.list = to_->get("/v1/gates");
    out.at = steady::now();
    ask_events(out);
    ask_gates(out, selection, time_after(steady::now(), time));
  } catch (const json::exception&) {
    out.error = strange_answer;
  } catch (const std::exception& e) {
    out.error = e.what();
  }
  if (!out.error.empty()) {
    out.at = steady::now();
    // Its file may be of another run by now.
    disconnect();
    cursor_.clear();
  }
  return out;
}

void gate_reader::connect() {
  if (to_)
    return;
  auto next = std::make_unique<connection>(file_);
  std::lock_guard guard{mutex_};
  to_ = std::move(next);
  if (interrupted_)
    to_->interrupt();
}

void gate_reader::disconnect() {
  std::lock_guard guard{mutex_};
  to_.reset();
}

void gate_reader::interrupt() noexcept {
  std::lock_guard guard{mutex_};
  interrupted_ = true;
  if (to_)
    to_->interrupt();
}

std::vector<std::string> gate_reader::choose(const json& list,
                                             const gate_selection& selection) {
  std::vector<std::string> answering;
  for (const auto& x : list_in(list, "gates"))
    if (text_in(x, "error").empty())
      answering.push_back(text_in(x, "name"));
  std::set<std::string> known{answering.begin(), answering.end()};
  std::vector<std::string> out;
  for (const auto& x : selection.names)
    // Once each.
    if (out.size() < selection.most && known.erase(x) > 0)
      out.push_back(x);
  for (std::size_t i = 0; i < answering.size() && out.size() < selection.most;
       ++i) {
    const auto& x = answering[turn_++ % answering.size()];
    if (known.erase(x) > 0)
      out.push_back(x);
  }
  return out;
}

void gate_reader::ask_gates(gate_update& to, const gate_selection& selection,
                            time_point until) {
  for (auto& name : choose(to.list, selection)) {
    if (steady::now() >= until)
      return;
    try {
      auto answer = to_->get("/v1/gates/" + encoded(name));
      if (text_in(answer, "name") == name)
        to.gates.push_back({std::move(name), std::move(answer), {}});
    } catch (const ctl_error& e) {
      // If it is the program that does not answer, others would wait as long.
      to.gates.push_back({std::move(name), nullptr, e.what()});
      return;
    }
  }
}

void gate_reader::ask_events(gate_update& to) {
  constexpr int most_requests = 5;
  constexpr std::size_t whole = 1'000;
  try {
    if (cursor_.empty()) {
      cursor_ = text_in(to_->get("/v1/events"), "cursor");
      return;
    }
    for (int i = 0; i < most_requests; ++i) {
      auto answer = to_->get("/v1/events?wait=0s&after=" + encoded(cursor_));
      cursor_ = text_in(answer, "cursor");
      auto count = list_in(answer, "events").size();
      to.events.push_back(std::move(answer));
      if (count < whole)
        return;
    }
  } catch (const ctl_error&) {
    // Without events there are still the gates; the next ones are those from
    // then on.
    cursor_.clear();
  }
}

// -- in a thread --------------------------------------------------------------

background_reader::background_reader(gate_reader& reader, duration interval)
  : reader_(reader), interval_(interval) {
  if (::pipe2(pipe_, O_NONBLOCK | O_CLOEXEC) != 0)
    throw std::system_error{errno, std::generic_category(), "pipe"};
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (...) {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
    throw;
  }
}

background_reader::~background_reader() {
  {
    std::lock_guard guard{mutex_};
    ended_ = true;
  }
  changed_.notify_one();
  reader_.interrupt();
  thread_.join();
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

void background_reader::want(const gate_selection& selection) {
  std::lock_guard guard{mutex_};
  if (selection == selection_)
    return;
  auto first = [](const gate_selection& x) {
    return x.names.empty() ? std::string{} : x.names.front();
  };
  soon_ = soon_ || first(selection) != first(selection_)
          || (selection_.paused && !selection.paused);
  selection_ = selection;
  changed_.notify_one();
}

std::deque<gate_update> background_reader::take_updates() {
  std::lock_guard guard{mutex_};
  char bytes[64];
  while (::read(pipe_[0], bytes, sizeof bytes) > 0)
    ;
  return std::exchange(updates_, {});
}

void background_reader::run() {
  std::unique_lock guard{mutex_};
  auto next = steady::now() + interval_;
  for (;;) {
    auto due = [&] { return ended_ || (soon_ && !selection_.paused); };
    if (!changed_.wait_until(guard, next, due) && selection_.paused)
      changed_.wait(guard, [&] { return ended_ || !selection_.paused; });
    if (ended_)
      return;
    soon_ = false;
    next = steady::now() + interval_;
    auto selection = selection_;
    guard.unlock();
    auto update = reader_.ask(selection, interval_ / 2);
    guard.lock();
    updates_.push_back(std::move(update));
    if (updates_.size() > most_updates)
      updates_.pop_front();
    const char byte = 0;
    [[maybe_unused]] auto n = ::write(pipe_[1], &byte, 1);
  }
}

} // namespace caisson::ctl
