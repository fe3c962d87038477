// One layer of a stack: a policy with what it needs of CAF's world.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/messages.hpp>
#include <caisson/policy.hpp>
#include <caisson/settings.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

/// What a fallback answers with: a value, or another actor that is asked the
/// same.
struct alternative {
  caf::message value = {};
  caf::actor target = {};
  /// Whether it is `target` that answers.
  bool asks = false;

  /// The message `xs...` as the answer.
  template <class... Ts>
  static alternative answer(Ts&&... xs) {
    return {detail::make_early(std::forward<Ts>(xs)...), {}, false};
  }

  /// Ask `target`; it gets the call's content as the worker would.
  static alternative ask(caf::actor target) {
    return {{}, std::move(target), true};
  }
};

/// How a batcher's items become one message, and its answer their results.
struct batching {
  /// Answers a call before it joins a batch, or lets it join (nothing).
  std::function<std::optional<caf::message>(const caf::message&)>
    prefilter = {};
  /// Builds the message to the worker; empty: `batch{items}`.
  std::function<caf::message(std::vector<caf::message>)> assemble = {};
  /// Takes the worker's answer, which is no error, apart into `n` results;
  /// empty: by `batch_reply`, or the same answer for all. Too few results: the
  /// rest gets `batch_failed`.
  std::function<std::vector<caf::message>(caf::message, std::size_t n)>
    split = {};

  /// For workers that take a `std::vector<T>` and answer with a
  /// `std::vector<R>`, an item being a message with a single T. Both vectors
  /// must be message types (listed in a type-id block to cross the network).
  template <class T, class R>
  static batching vectors();
};

/// A policy within a gate, and what it does with the content of calls, which
/// policies themselves never see.
class layer {
public:
  layer(std::string name, mode m) : name_(std::move(name)), configured_(m) {}
  virtual ~layer() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The mode in force: the operator's, or else the configured one.
  [[nodiscard]] mode active() const noexcept {
    return forced_.value_or(configured_);
  }

  void configure_mode(mode m) noexcept { configured_ = m; }
  void force_mode(std::optional<mode> m) noexcept { forced_ = m; }

  virtual policy& machine() = 0;

  /// Applies settings; on problems nothing has changed.
  virtual problems change(const settings& set, env& e) = 0;

  [[nodiscard]] virtual std::vector<field_row> config_rows() const = 0;

  // -- content ----------------------------------------------------------------
  //
  // Functions of the user's that are called from here may throw; they are to be
  // called through `call_user`.

  /// Whether the layer works on the content of calls, which requests for
  /// permits do not have: those pass it by, and of the functions below only
  /// those of layers that say so are called.
  [[nodiscard]] virtual bool handles_content() const { return false; }

  /// Answers a call before the policy sees it, or lets it on (nothing).
  virtual std::optional<caf::message> prefilter(const caf::message&, env&) {
    return std::nullopt;
  }

  /// The content of a child call: by default that of its first parent, whose
  /// own is kept if the policy `resends`.
  virtual caf::message child_content(call_id, std::vector<caf::message> parents,
                                     env&) {
    return parents.empty() ? caf::message{} : std::move(parents.front());
  }

  /// Takes the value that a child was answered with apart into the results of
  /// its `n` parents; nothing: it is the result of each. Too few results: the
  /// rest gets `batch_failed`.
  virtual std::optional<std::vector<caf::message>> split(call_id, caf::message&,
                                                         std::size_t, env&) {
    return std::nullopt;
  }

  /// The actors that children can be sent to, by number.
  [[nodiscard]] virtual std::vector<caf::actor> targets() const { return {}; }

  /// The value of that number, for `env::answer`.
  [[nodiscard]] virtual caf::message value(std::uint64_t) const { return {}; }

private:
  std::string name_;
  mode configured_;
  std::optional<mode> forced_;
};

/// The layer of a policy class.
template <class Policy>
class policy_layer : public layer {
public:
  using config_type = typename Policy::config_type;

  template <class... Ts>
  explicit policy_layer(const config_type& c, Ts&&... xs)
    : layer(c.name, c.mode), machine_(c, std::forward<Ts>(xs)...) {}

  Policy& machine() override { return machine_; }

  problems change(const settings& set, env& e) override {
    auto next = machine_.config();
    auto found = read_settings(set, name(), next);
    if (found.empty() && next.name != name())
      found.push_back(
        {{}, joined(name(), "name"), "the name of a layer cannot be changed"});
    if (found.empty()) {
      configure_mode(next.mode);
      machine_.reconfigure(std::move(next), e);
    }
    return found;
  }

  [[nodiscard]] std::vector<field_row> config_rows() const override {
    return rows_of(machine_.config());
  }

private:
  Policy machine_;
};

// -- implementation -----------------------------------------------------------

template <class T, class R>
batching batching::vectors() {
  batching result;
  result.assemble = [](std::vector<caf::message> items) {
    std::vector<T> xs;
    xs.reserve(items.size());
    for (auto& item : items)
      xs.push_back(rt::holds<T>(item) ? rt::take<T>(item) : T{});
    return caf::make_message(std::move(xs));
  };
  // An item of another type would shift the results of those behind it.
  result.prefilter =
    [](const caf::message& item) -> std::optional<caf::message> {
    if (rt::holds<T>(item))
      return std::nullopt;
    return caf::make_message(
      caf::make_error(caf::sec::unexpected_message, item));
  };
  result.split = [](caf::message answer, std::size_t) {
    std::vector<caf::message> out;
    if (!rt::holds<std::vector<R>>(answer))
      return out;
    for (auto& x : rt::take<std::vector<R>>(answer))
      out.push_back(caf::make_message(std::move(x)));
    return out;
  };
  return result;
}

} // namespace caisson
