#include <caisson/observe/event_log.hpp>

#include <caisson/caf/hooks.hpp>
#include <caisson/observe/detail/event_writer.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/settings.hpp>

#include <atomic>
#include <utility>

namespace caisson {

namespace {

// Where gates send events: it has no mailbox, and a writer that is slow makes
// no sender wait.
class event_inlet final : public portable::relay {
public:
  event_inlet(caf::actor_config& cfg,
              std::shared_ptr<detail::event_writer> writer)
    : relay(cfg), writer_(std::move(writer)) {}

  const char* name() const override { return "caisson.event_log"; }

protected:
  bool receive(caf::mailbox_element_ptr what, portable::run_context*) override {
    if (!holds_one<event>(*what))
      return drop(*what);
    writer_->offer(content_of(*what));
    return true;
  }

private:
  const std::shared_ptr<detail::event_writer> writer_;
};

// Not from the system's own ids: from those follows what gates draw in virtual
// time, which must not depend on who listens.
caf::actor_id next_inlet_id() {
  static std::atomic<caf::actor_id> last{0};
  return caf::actor_id{1} << 60 | ++last;
}

class function_target final : public detail::event_target {
public:
  explicit function_target(event_log::function f) : f_(std::move(f)) {}

  void write(const event& x, utc_time at) override { f_(x, at); }

private:
  event_log::function f_;
};

} // namespace

void describe(field_visitor& v, event_log_config& c) {
  v.integer({"backlog", "how many events may wait to be written; beyond that "
                        "they are dropped"},
            c.backlog, {1, 1'000'000});
}

// -- construction -------------------------------------------------------------

event_log::event_log(std::shared_ptr<detail::event_writer> writer,
                     caf::strong_actor_ptr address)
  : writer_(std::move(writer)), address_(std::move(address)) {}

event_log event_log::make(caf::actor_system& sys,
                          std::unique_ptr<detail::event_target> target,
                          const event_log_config& c) {
  auto writer = std::make_shared<detail::event_writer>(
    std::move(target), c.backlog, [&sys] { return sys.clock().now(); },
    !portable::is_virtual(sys));
  writer->start();
  auto address = portable::make_relay<event_inlet>(sys, next_inlet_id(),
                                                   writer);
  return event_log{std::move(writer), std::move(address)};
}

event_log event_log::to_function(caf::actor_system& sys, function f,
                                 event_log_config c) {
  require_valid(c);
  return make(sys, std::make_unique<function_target>(std::move(f)), c);
}

event_log event_log::to_caf(caf::actor_system& sys, event_log_config c) {
  require_valid(c);
  return make(sys, detail::make_caf_target(sys), c);
}

event_log event_log::to_stream(caf::actor_system& sys, std::ostream& out,
                               event_log_config c) {
  require_valid(c);
  return make(sys, detail::make_stream_target(out), c);
}

event_log event_log::to_file(caf::actor_system& sys, const std::string& path,
                             event_log_config c) {
  require_valid(c);
  auto target = detail::make_file_target(path);
  if (!target)
    throw config_error{
      {{problem_kind::unknown, "path", "cannot be opened", path}}};
  return make(sys, std::move(target), c);
}

event_log::event_log(event_log&&) noexcept = default;

event_log& event_log::operator=(event_log&& other) noexcept {
  if (this != &other) {
    close();
    writer_ = std::move(other.writer_);
    address_ = std::move(other.address_);
  }
  return *this;
}

event_log::~event_log() {
  close();
}

// -- what comes in ------------------------------------------------------------

void event_log::follow(const control_handle& gate) {
  if (gate && address_)
    portable::relay::send_on(gate, address_, caf::make_message_id(),
                             caf::make_message(subscribe{}), nullptr);
}

std::function<void(const event&)> event_log::listener() const {
  return [writer = writer_](const event& x) {
    if (writer)
      writer->offer(caf::make_message(x));
  };
}

// -- the end ------------------------------------------------------------------

void event_log::flush() {
  // Null if this has been moved from.
  if (writer_)
    writer_->flush();
}

void event_log::close() {
  if (!writer_)
    return;
  static_cast<event_inlet*>(address_->get())->close();
  writer_->close();
}

std::uint64_t event_log::written() const {
  return writer_ ? writer_->written() : 0;
}

std::uint64_t event_log::dropped() const {
  return writer_ ? writer_->dropped() : 0;
}

std::uint64_t event_log::failed() const {
  return writer_ ? writer_->failed() : 0;
}

} // namespace caisson
