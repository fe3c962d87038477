// Stacks whose layers take the key of calls for different things.
#include <caisson/config/stack_toml.hpp>
#include <caisson/engine/key_meaning.hpp>
#include <caisson/policies.hpp>
#include <caisson/settings/toml.hpp>
#include <caisson/stack.hpp>
#include <caisson/stack/layers/canary_layer.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace caisson::test {
namespace {

cache_forms with_key() {
  return cache_forms::keyed_by<std::string>(
    [](const std::string& x) { return x; });
}

std::string problems_in(const stack& s) {
  return to_text(s.check());
}

TEST(stack_keys, a_cache_of_keys_beside_a_policy_per_key_is_refused) {
  auto found = problems_in(
    stack{}.add<keyed<limiter>>().cache({.name = "prices"}));
  EXPECT_EQ(found,
            "prices.unsafe: must be true, or else prices needs a key of its "
            "own from a function (cache_forms::key): it takes the key of calls "
            "for what they ask for, limiter for whom they belong to, and all "
            "calls of one would get the same answer");
  // In any order.
  EXPECT_EQ(stack{}.cache().add<keyed<breaker>>().key_conflicts().size(), 1u);
  EXPECT_EQ(stack{}.cache().cache().add<keyed<breaker>>().check().size(), 2u);
}

// A layer of the user's need not say more.
TEST(stack_keys, a_layer_without_a_remedy_cannot_stand_there) {
  EXPECT_EQ(detail::key_conflict_text({}, "limiter"),
            "must stand in another stack: it takes the key of calls for what "
            "they ask for, limiter for whom they belong to, and all calls of "
            "one would get the same answer");
  EXPECT_EQ(to_text(detail::key_conflict_path("s.mine", "")), "s.mine");
  EXPECT_EQ(to_text(detail::key_conflict_path("s.mine", "own")), "s.mine.own");
}

TEST(stack_keys, so_is_one_beside_a_sticky_canary) {
  EXPECT_EQ(stack{}.cache().add<canary>({.sticky = true}).check().size(), 1u);
  EXPECT_EQ(stack{}.cache().add<canary>({.sticky = false}).check().size(), 0u);
}

TEST(stack_keys, a_key_of_its_own_or_a_word_for_it_is_enough) {
  EXPECT_EQ(problems_in(stack{}.cache({}, with_key()).add<keyed<limiter>>()),
            "");
  EXPECT_EQ(problems_in(stack{}.cache({.unsafe = true}).add<keyed<limiter>>()),
            "");
  EXPECT_EQ(problems_in(stack{}.cache().limiter()), "");
  EXPECT_EQ(problems_in(stack{}.add<keyed<limiter>>().limiter()), "");
}

std::string problems_of_file(const std::string& more) {
  problems out;
  auto root = parse_toml("[[stack.s.layer]]\nkind = \"limiter\"\nper_key = {}\n"
                         "[[stack.s.layer]]\nkind = \"cache\"\n"
                           + more,
                         "x.toml", out);
  static_cast<void>(read_stacks(root, out));
  return to_text(out);
}

TEST(stack_keys, a_file_is_refused_with_the_place) {
  auto found = problems_of_file("");
  EXPECT_TRUE(found.starts_with("x.toml:4:")) << found;
  EXPECT_NE(found.find("stack.s.layer[1].unsafe: must be true"),
            std::string::npos)
    << found;
  EXPECT_EQ(problems_of_file("unsafe = true\n"), "");
}

} // namespace
} // namespace caisson::test
