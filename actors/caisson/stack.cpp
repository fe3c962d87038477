#include <caisson/stack.hpp>

#include <caisson/callback.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson {

namespace {

class batch_layer final : public policy_layer<batcher> {
public:
  batch_layer(const batcher_config& c, batching forms)
    : policy_layer<batcher>(c), forms_(std::move(forms)) {}

  [[nodiscard]] bool handles_content() const override { return true; }

  std::optional<caf::message> prefilter(const caf::message& item,
                                        env& e) override {
    if (!forms_.prefilter)
      return std::nullopt;
    auto answer = call_user(
      "prefilter", [&] { return forms_.prefilter(item); }, e);
    if (!answer || !*answer)
      return std::nullopt;
    machine().note_prefiltered();
    return std::move(*answer);
  }

  caf::message child_content(call_id, std::vector<caf::message> items,
                             env& e) override {
    if (!forms_.assemble)
      return caf::make_message(batch{std::move(items)});
    auto whole = call_user(
      "assemble", [&] { return forms_.assemble(std::move(items)); }, e);
    return whole ? std::move(*whole) : caf::message{};
  }

  std::optional<std::vector<caf::message>>
  split(call_id, caf::message& whole, std::size_t n, env& e) override {
    if (!forms_.split) {
      if (!rt::holds<batch_reply>(whole))
        return std::nullopt;
      return rt::take<batch_reply>(whole).results;
    }
    return call_user(
      "split", [&] { return forms_.split(std::move(whole), n); }, e);
  }

private:
  batching forms_;
};

std::vector<alternative_kind> kinds_of(const std::vector<alternative>& chain) {
  std::vector<alternative_kind> out;
  out.reserve(chain.size());
  for (const auto& x : chain)
    out.push_back(x.asks ? alternative_kind::actor : alternative_kind::value);
  return out;
}

class fallback_layer final : public policy_layer<fallback> {
public:
  fallback_layer(const fallback_config& c, std::vector<alternative> chain)
    : policy_layer<fallback>(c, kinds_of(chain)), chain_(std::move(chain)) {}

  [[nodiscard]] bool handles_content() const override { return true; }

  [[nodiscard]] std::vector<caf::actor> targets() const override {
    std::vector<caf::actor> out;
    out.reserve(chain_.size());
    for (const auto& x : chain_)
      out.push_back(x.target);
    return out;
  }

  [[nodiscard]] caf::message value(std::uint64_t index) const override {
    return chain_[index].value;
  }

private:
  std::vector<alternative> chain_;
};

} // namespace

void describe(field_visitor& v, gate_config& c) {
  using namespace std::chrono_literals;
  v.on({"name", "what the gate is called in errors, events and status"},
       c.name);
  v.on({"default_deadline", "the deadline of a call that brings none"},
       c.default_deadline, {1ms, unlimited});
  v.integer({"max_calls", "how many calls the gate holds at once; beyond that "
                          "they are refused with shed"},
            c.max_calls, {1, 16'000'000});
  v.integer({"seed", "seeds the gate's random source; 0: a seed of its own"},
            c.seed,
            {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()});
}

template <class Layer, class Config, class... Ts>
stack& stack::add(Config c, std::string_view kind, Ts... xs) {
  if (c.name.empty())
    c.name = free_name(kind);
  else if (auto all = names();
           std::find(all.begin(), all.end(), c.name) != all.end())
    own_problems_.push_back(
      {{}, joined(c.name, "name"), "another layer has the same name"});
  auto name = c.name;
  layers_.push_back({name, [c] { return problems_of(c, c.name); },
                     [c, xs...]() -> std::unique_ptr<layer> {
                       return std::make_unique<Layer>(c, xs...);
                     }});
  return *this;
}

stack& stack::deadline(deadline_config c) {
  return add<policy_layer<caisson::deadline>>(std::move(c), "deadline");
}

stack& stack::semaphore(semaphore_config c) {
  return add<policy_layer<caisson::semaphore>>(std::move(c), "semaphore");
}

stack& stack::limiter(limiter_config c) {
  return add<policy_layer<caisson::limiter>>(std::move(c), "limiter");
}

stack& stack::breaker(breaker_config c) {
  return add<policy_layer<caisson::breaker>>(std::move(c), "breaker");
}

stack& stack::retry(retrier_config c) {
  return add<policy_layer<caisson::retrier>>(std::move(c), "retrier");
}

stack& stack::batch(batcher_config c, batching forms) {
  return add<batch_layer>(std::move(c), "batcher", std::move(forms));
}

stack& stack::fallback(std::vector<alternative> chain, fallback_config c) {
  add<fallback_layer>(std::move(c), "fallback", chain);
  if (chain.empty())
    own_problems_.push_back({{},
                             joined(layers_.back().name, "alternatives"),
                             "a fallback needs at least one alternative"});
  for (std::size_t i = 0; i < chain.size(); ++i)
    if (chain[i].asks && !chain[i].target)
      own_problems_.push_back(
        {{},
         joined(layers_.back().name, fmt::format("alternatives[{}]", i)),
         "there is no actor to ask: the handle is null"});
  return *this;
}

std::string stack::free_name(std::string_view kind) const {
  auto all = names();
  auto taken = [&](const std::string& name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  std::string name{kind};
  for (int i = 2; taken(name); ++i)
    name = fmt::format("{}-{}", kind, i);
  return name;
}

std::vector<std::string> stack::names() const {
  std::vector<std::string> out;
  out.reserve(layers_.size());
  for (const auto& x : layers_)
    out.push_back(x.name);
  return out;
}

problems stack::check() const {
  auto out = problems_of(config_, config_.name);
  out.insert(out.end(), own_problems_.begin(), own_problems_.end());
  if (layers_.size() > max_layers)
    out.push_back({{},
                   config_.name,
                   fmt::format("{} layers are too many, allowed: 0 to {}",
                               layers_.size(), max_layers)});
  for (const auto& x : layers_)
    for (auto& p : x.check())
      out.push_back(std::move(p));
  return out;
}

std::vector<std::unique_ptr<layer>> stack::build() const {
  std::vector<std::unique_ptr<layer>> out;
  out.reserve(layers_.size());
  for (const auto& x : layers_)
    out.push_back(x.make());
  return out;
}

} // namespace caisson
