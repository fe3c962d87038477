#include <caisson/gate/guard.hpp>

namespace caisson::detail {

namespace {

// An exception that is being handled, by a function of the user's.
std::optional<answer_info> meaning_of(const exception_classifier& classify,
                                      const std::exception_ptr& x) {
  try {
    return classify ? classify(x) : std::nullopt;
  } catch (...) {
    return std::nullopt;
  }
}

} // namespace

caf::error no_value_error() {
  return make_error(
    errc::internal_error,
    rejection{{},
              duration::zero(),
              true,
              "a policy has answered with a message, which a guard cannot pass "
              "on"});
}

attempt_result thrown_result(const exception_classifier& classify) {
  attempt_result out{.thrown = std::current_exception()};
  try {
    throw;
  } catch (const attempt_error& e) {
    out.text = e.what();
    out.meaning = e.info();
  } catch (const std::exception& e) {
    out.text = e.what();
    out.meaning = meaning_of(classify, out.thrown);
  } catch (...) {
    out.text = "an exception that is not a std::exception";
    out.meaning = meaning_of(classify, out.thrown);
  }
  return out;
}

} // namespace caisson::detail
