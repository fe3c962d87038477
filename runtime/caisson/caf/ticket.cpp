#include <caisson/caf/ticket.hpp>

#include <exception>

namespace caisson {

namespace {

// Without a sender: the holder may be ending, or on another thread. The gate
// goes by the number.
ticket::sender sender_to(caf::actor gate) {
  return [gate = std::move(gate)](const release& x) {
    if (gate)
      portable::send_anon(gate, x);
  };
}

} // namespace

ticket::ticket(caf::actor gate, const permit& lent, release_outcome at_end)
  : ticket(sender_to(std::move(gate)), lent, at_end) {}

ticket::ticket(sender send, const permit& lent, release_outcome at_end)
  : send_(std::move(send)), lent_(lent), at_end_(at_end),
    exceptions_(std::uncaught_exceptions()) {}

ticket::ticket(ticket&& other) noexcept
  : send_(std::exchange(other.send_, nullptr)), lent_(other.detach()),
    at_end_(other.at_end_), exceptions_(std::uncaught_exceptions()) {}

ticket& ticket::operator=(ticket&& other) noexcept {
  if (this == &other)
    return *this;
  end(at_end_);
  send_ = std::exchange(other.send_, nullptr);
  lent_ = other.detach();
  at_end_ = other.at_end_;
  exceptions_ = std::uncaught_exceptions();
  return *this;
}

ticket::~ticket() {
  end(std::uncaught_exceptions() > exceptions_ ? release_outcome::failure
                                               : at_end_);
}

permit ticket::detach() noexcept {
  send_ = nullptr;
  return std::exchange(lent_, permit{});
}

void ticket::end(release_outcome how) noexcept {
  auto send = std::exchange(send_, nullptr);
  auto id = detach().id;
  if (id == 0 || !send)
    return;
  try {
    send({id, how == release_outcome::failure, how});
  } catch (...) {
    // Without memory for the message the lease ends at its time.
  }
}

} // namespace caisson
