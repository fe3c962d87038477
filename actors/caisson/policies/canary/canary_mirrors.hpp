// Calls that both canary and baseline get, to compare their answers.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace caisson {

/// What a canary needs of its host, because it never sees content itself.
struct canary_host {
  using content = std::shared_ptr<const void>;

  /// Whether there is a canary: the host's target number 0.
  bool present = true;
  /// Whether calls may be sent to it; empty: yes. False while the layer
  /// observes.
  std::function<bool()> sends = {};
  /// Makes a copy of an answer (`outcome::reply`) or of a call's content;
  /// empty: nothing is kept of them.
  std::function<content(const void*)> keep = {};
  /// Whether two values that answer the same call, baseline's and canary's, are
  /// the same; empty: they are. If it throws, there is no verdict.
  std::function<bool(const void*, const void*)> same = {};
  /// Says how two values differ; empty: nothing is said. May throw.
  std::function<std::string(const void*, const void*)> describe = {};
  /// An answer, a value or an error, as text; empty: it is not shown. May
  /// throw.
  std::function<std::string(const void*)> text = {};
};

/// The mirrored calls of a canary: their content while the baseline has them,
/// and the baseline's answer while the canary has them.
class canary_mirrors {
public:
  using content = canary_host::content;
  using handle = pooled_list<content>::handle;
  /// The handle of what is not kept.
  static constexpr handle none = pooled_list<content>::none;

  /// A call that the canary gets after the baseline has answered it.
  struct mirror {
    /// The call that the baseline has answered.
    call_id call = 0;
    /// The canary's run in which it was sent. A start or a rollback begins
    /// another one, in which its answer does not count.
    std::uint64_t run = 0;
    /// What the call contains, until it is taken for the canary; may be null.
    content asked = {};
    /// A copy of the baseline's answer; null if none is kept.
    content answer = {};
    /// Whether the baseline succeeded.
    bool ok = true;
    /// The code of the baseline's error, within its category.
    std::uint8_t code = 0;
    /// The category of the baseline's error, as in `outcome::category`.
    std::uint64_t category = 0;
  };

  // -- with the baseline ------------------------------------------------------

  /// Keeps the content of a call while the baseline has it. `none` if it is
  /// null.
  [[nodiscard]] handle keep(content asked) {
    return asked ? kept_.push_back(std::move(asked)) : none;
  }

  /// Takes out what is kept, and sets the handle to `none`; null if it was
  /// `none`.
  content take(handle& at) {
    auto h = std::exchange(at, none);
    return h == none ? nullptr : kept_.erase(h);
  }

  // -- with the canary --------------------------------------------------------

  /// How many mirrored calls the canary has.
  [[nodiscard]] std::size_t size() const noexcept { return running_.size(); }

  /// The canary gets the call `m` as the child call `child`.
  void start(call_id child, mirror m);

  /// The content of the child; null if nothing is kept of it. Moves it out.
  [[nodiscard]] content take_asked(call_id child);

  /// Takes out a call that has ended; nothing if the child is none of these.
  [[nodiscard]] std::optional<mirror> end(call_id child);

  /// Takes out all of them.
  [[nodiscard]] std::vector<call_id> end_all();

  /// How `o`, of the canary, differs from the baseline's answer: `outcome` (one
  /// of the two is a failure), `code` (of the errors) or `value`; empty if it
  /// does not. Nothing if the host's function throws.
  [[nodiscard]] static std::optional<std::string_view>
  difference(const mirror& m, const outcome& o, const canary_host& host,
             env& e);

  /// That difference in words, such as `baseline 1, canary worker_down`;
  /// empty if the host says nothing, or its function throws.
  [[nodiscard]] static std::string
  description(const mirror& m, const outcome& o, std::string_view difference,
              const canary_host& host, env& e);

private:
  pooled_list<content> kept_;
  std::unordered_map<call_id, mirror> running_;
};

} // namespace caisson
