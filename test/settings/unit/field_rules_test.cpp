// Rules among fields: which must be given, and which cannot be
// given together.
#include <caisson/settings.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::test {
namespace {

enum class vehicle { bicycle, train, plane };

} // namespace
} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::vehicle> {
  static constexpr std::string_view value[] = {"bicycle", "train", "plane"};
};

namespace caisson::test {
namespace {

using texts = std::vector<std::string>;

// One field for each rule.
struct trip_config {
  vehicle by = vehicle::bicycle;
  std::string to;
  std::int64_t gears = 1;
  std::string seat;
  bool return_trip = false;
  std::string back_on;
  double miles = 0;
  double minutes = 0;
  std::int64_t least = 0;
  std::int64_t most = 9;
  texts bags;
};

void describe(field_visitor& v, trip_config& c) {
  constexpr range<std::int64_t> any{0, 9};
  v.choice({"by", "how"}, c.by);
  v.on({.key = "to",
        .help = "where to",
        .allowed = "the name of a town",
        .required = true},
       c.to);
  v.on({.key = "gears", .help = "how many", .when = {"by", {"bicycle"}}},
       c.gears, any);
  v.on({.key = "seat",
        .help = "which one",
        .required = true,
        .when = {"by", {"train", "plane"}}},
       c.seat);
  v.on({"return_trip", "whether"}, c.return_trip);
  v.on({.key = "back_on",
        .help = "which day",
        .needs = {"return_trip"},
        .when = {"return_trip", {"true"}}},
       c.back_on);
  v.on(
    {.key = "miles", .help = "how far", .required = true, .one_of = "distance"},
    c.miles, {0.0, 1000.0});
  v.on({.key = "minutes", .help = "or how long", .one_of = "distance"},
       c.minutes, {0.0, 1000.0});
  v.on({.key = "least", .help = "", .required = true, .unless = "most"},
       c.least, any);
  v.on({"most", ""}, c.most, any);
  v.on({.key = "bags",
        .help = "what to take",
        .allowed = "a list of at least one bag",
        .nonempty = true},
       c.bags);
}

// What is given, as text.
using pairs = std::map<std::string, std::string>;

// A trip with which nothing is wrong, and `more`.
pairs trip_with(pairs more) {
  more.insert({{"to", "Ulm"}, {"miles", "7"}, {"most", "3"}});
  return more;
}

problems read_trip(const pairs& from) {
  trip_config c;
  return read_settings(settings_from_text(from), "trip", c, "f:1:1");
}

std::string first_text(const pairs& from) {
  auto found = read_trip(from);
  return found.empty() ? "" : to_text(found.front());
}

TEST(field_rules, let_pass_what_keeps_them) {
  EXPECT_EQ(to_text(read_trip(trip_with({}))), "");
  EXPECT_EQ(to_text(read_trip(trip_with({{"by", "train"}, {"seat", "7a"}}))),
            "");
  EXPECT_EQ(
    to_text(read_trip({{"to", "Ulm"}, {"minutes", "7"}, {"least", "3"}})), "");
}

TEST(field_rules, demand_what_is_required_at_the_place_of_the_table) {
  EXPECT_EQ(
    kinds_and_keys(read_trip({})),
    (texts{"missing trip.to", "missing trip.miles", "missing trip.least"}));
  EXPECT_EQ(first_text({}),
            "f:1:1: trip.to: is missing, allowed: the name of a town");
}

TEST(field_rules, demand_what_is_required_only_where_it_applies) {
  EXPECT_EQ(kinds_and_keys(read_trip(trip_with({{"by", "plane"}}))),
            texts{"missing trip.seat"});
}

TEST(field_rules, take_a_misspelled_key_for_the_one_that_is_missing) {
  auto from = trip_with({{"by", "plane"}, {"saet", "7a"}});
  EXPECT_EQ(kinds_and_keys(read_trip(from)), texts{"unknown trip.saet"});
  // But not where the right one is given, too.
  EXPECT_EQ(kinds_and_keys(read_trip(trip_with({{"ot", "Ulm"}}))),
            texts{"unknown trip.ot"});
}

TEST(field_rules, refuse_what_does_not_apply) {
  EXPECT_EQ(kinds_and_keys(read_trip(trip_with({{"seat", "7a"}}))),
            texts{"relation trip.seat"});
  EXPECT_EQ(first_text(trip_with({{"seat", "7a"}})),
            "trip.seat: seat applies to by \"train\" or \"plane\" only, "
            "this is \"bicycle\"");
  EXPECT_EQ(kinds_and_keys(read_trip(
              trip_with({{"by", "train"}, {"seat", "1"}, {"gears", "3"}}))),
            texts{"relation trip.gears"});
}

TEST(field_rules, know_the_values_of_booleans) {
  EXPECT_EQ(kinds_and_keys(read_trip(
              trip_with({{"return_trip", "false"}, {"back_on", "Monday"}}))),
            texts{"relation trip.back_on"});
  EXPECT_EQ(to_text(read_trip(
              trip_with({{"return_trip", "true"}, {"back_on", "Monday"}}))),
            "");
}

TEST(field_rules, say_nothing_of_what_hangs_on_a_choice_that_is_wrong) {
  EXPECT_EQ(kinds_and_keys(read_trip(
              trip_with({{"by", "boat"}, {"seat", "7a"}, {"gears", "3"}}))),
            texts{"range trip.by"});
}

TEST(field_rules, want_one_of_a_group) {
  EXPECT_EQ(first_text({{"to", "Ulm"}, {"most", "3"}}),
            "f:1:1: trip.miles: is missing, allowed: 0 to 1000, or else "
            "minutes");
  EXPECT_EQ(first_text(trip_with({{"minutes", "5"}})),
            "trip.minutes: cannot be given beside miles");
  EXPECT_EQ(kinds_and_keys(read_trip(trip_with({{"minutes", "5"}}))),
            texts{"relation trip.minutes"});
}

TEST(field_rules, name_what_may_stand_for_a_required_field) {
  EXPECT_EQ(first_text({{"to", "Ulm"}, {"miles", "7"}}),
            "f:1:1: trip.least: is missing, allowed: 0 to 9, or else most");
}

TEST(field_rules, refuse_what_is_empty_though_it_must_not_be) {
  settings from = settings_from_text(trip_with({}));
  from["bags"].value = std::vector<setting>{};
  trip_config c;
  auto found = read_settings(from, "trip", c);
  EXPECT_EQ(kinds_and_keys(found), texts{"missing trip.bags"});
  EXPECT_EQ(found[0].message, "is empty, allowed: a list of at least one bag");
}

TEST(field_rules, name_only_the_keys_that_apply) {
  auto text = first_text(trip_with({{"colour", "red"}}));
  EXPECT_EQ(text, "trip.colour: unknown key, known keys: by, to, gears, "
                  "return_trip, miles, minutes, least, most, bags");
}

// -- fields that need others --------------------------------------------------

struct store {
  std::int64_t keys = 0;
  duration ttl = unlimited;
};

void describe(field_visitor& v, store& c) {
  v.on({"keys", "how many"}, c.keys, {0, 9});
  v.on({.key = "ttl", .help = "how long", .needs = {"keys", "all"}}, c.ttl,
       {duration{1}, unlimited});
}

TEST(field_rules, want_what_a_field_needs_beside_it) {
  store c;
  auto read_store = [&](const pairs& from) {
    return read_settings(settings_from_text(from), "s", c);
  };
  EXPECT_EQ(to_text(read_store({{"ttl", "1s"}, {"keys", "2"}})), "");
  auto found = read_store({{"ttl", "1s"}});
  EXPECT_EQ(kinds_and_keys(found), texts{"relation s.ttl"});
  EXPECT_EQ(found[0].message, "ttl applies with keys or all only");
  // It is there, if under another name.
  EXPECT_EQ(kinds_and_keys(read_store({{"ttl", "1s"}, {"kesy", "2"}})),
            texts{"unknown s.kesy"});
}

// -- changes ------------------------------------------------------------------

TEST(changed_settings, lack_nothing) {
  trip_config c;
  c.to = "Ulm";
  auto change = [&](const pairs& set) {
    return kinds_and_keys(change_settings(settings_from_text(set), "trip", c));
  };
  EXPECT_EQ(change({{"gears", "5"}}), texts{});
  EXPECT_EQ(c.gears, 5);
  EXPECT_EQ(c.to, "Ulm");
  EXPECT_EQ(change({{"by", "plane"}}), texts{});
  EXPECT_EQ(change({{"gears", "7"}}), texts{"relation trip.gears"});
  EXPECT_EQ(change({{"miles", "1"}, {"minutes", "2"}}),
            texts{"relation trip.minutes"});
  store s;
  EXPECT_EQ(
    to_text(change_settings(settings_from_text({{"ttl", "1s"}}), "s", s)), "");
}

// -- values set in code -------------------------------------------------------

TEST(range_checker, does_not_check_what_does_not_apply) {
  trip_config c;
  c.gears = 10;
  EXPECT_EQ(kinds_and_keys(problems_of(c, "t")), texts{"range t.gears"});
  c.by = vehicle::train;
  EXPECT_EQ(problems_of(c), problems{});
}

TEST(field_lister, reports_what_is_required_and_what_applies) {
  trip_config c;
  auto rows = rows_of(c);
  EXPECT_TRUE(rows[1].required);
  EXPECT_EQ(rows[1].allowed, "the name of a town");
  EXPECT_TRUE(rows[2].applies);
  // Required only where it applies, or if another one is not given.
  for (int i : {3, 6, 8})
    EXPECT_FALSE(rows[static_cast<std::size_t>(i)].required) << i;
  EXPECT_FALSE(rows[3].applies);
}

} // namespace
} // namespace caisson::test
