// The screens of `caisson top`, as text.
#include <caisson/base/utf8.hpp>

#include <ctl/top/screens.hpp>
#include <ctl/top/table.hpp>

#include <observe/control/top_gates.hpp>

#include <gmock/gmock.h>

#include <random>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

struct text_case {
  std::string text;
  std::string shown;
  std::size_t width;
};

TEST(top_cells, show_any_text_harmless) {
  const text_case cases[] = {{"payments", "payments", 8},
                             {"", "", 0},
                             {"é水", "é水", 3},
                             {"\x1b[2J", "\\x1b[2J", 7},
                             {"a\nb\tc", "a\\x0ab\\x09c", 11},
                             {"\xff\xfe", "\\xff\\xfe", 8},
                             {"\xc2\x9b", "\\u009b", 6}, // CSI in one character
                             {"a\u202eb", "a\\u202eb", 8},
                             {"e\u0301", "e?", 2},      // a mark on the e
                             {"\u200d\ufe0f", "??", 2}, // joiner, selector
                             {"\U0001f600", "\U0001f600", 2},
                             {"\ue000", "?", 1}};
  for (const auto& x : cases) {
    auto shown = ctl::harmless(x.text, true);
    EXPECT_EQ(shown, x.shown);
    EXPECT_EQ(ctl::width_of(shown), x.width) << shown;
  }
  EXPECT_EQ(ctl::harmless("é水x", false), "??x");
  // The last character that is there in part is left out.
  for (std::size_t n = 505; n < 515; ++n) {
    auto shown = ctl::harmless(std::string(n, 'a') + "水水水水水水", true);
    EXPECT_THAT(shown, Not(HasSubstr("\\x")));
    EXPECT_LE(shown.size(), ctl::most_text_bytes);
  }
}

TEST(top_cells, fit_exactly) {
  EXPECT_EQ(ctl::fitted("abc", 5, true), "abc  ");
  EXPECT_EQ(ctl::fitted("abc", 5, true, ctl::side::right), "  abc");
  EXPECT_EQ(ctl::fitted("abcdef", 4, true), "abc…");
  EXPECT_EQ(ctl::fitted("abcdef", 4, false), "abc~");
  EXPECT_EQ(ctl::fitted("水水水", 4, true), "水… ");
  EXPECT_EQ(ctl::fitted("水水水", 2, true), "… ");
  EXPECT_EQ(ctl::fitted("abc", 1, true), "…");
  EXPECT_EQ(ctl::fitted("abc", 0, true), "");
  for (std::size_t width = 0; width < 20; ++width)
    for (const auto* text :
         {"", "a", "水", "a水b水c水d", "abcdefghijklmnopqrs"}) {
      EXPECT_EQ(ctl::width_of(ctl::fitted(text, width, true)), width);
      ctl::text_line line;
      line.add(text, ctl::paint::bold);
      line.add(text, ctl::paint::bad);
      line.set_width(width, true);
      EXPECT_EQ(line.width(), width);
      EXPECT_EQ(ctl::width_of(line.text()), width);
    }
}

TEST(top_cells, draw_bars) {
  const std::vector<std::optional<double>> values{{}, 0, 1, 50, 100, {}};
  std::string text;
  for (const auto& x : ctl::bars_of(values, true))
    text += x;
  EXPECT_EQ(text, " ▁▂▅█ ");
  text.clear();
  for (const auto& x : ctl::bars_of(values, false))
    text += x;
  EXPECT_EQ(text, " _.=# ");
  const std::optional<double> odd[] = {1e308, 1e-300, -5};
  EXPECT_EQ(ctl::bars_of(odd, false).size(), 3u);
}

TEST(top_cells, colours_only_if_they_are_wanted) {
  ctl::text_line line;
  line.add("a");
  line.add("b", ctl::paint::bad);
  EXPECT_EQ(line.drawn(true), "a\x1b[1;31mb\x1b[m");
  EXPECT_EQ(line.drawn(false), "a\x1b[1mb\x1b[m");
  line.select();
  EXPECT_EQ(line.drawn(true), "\x1b[7mab\x1b[m");
}

struct number_case {
  double number;
  std::string text;
};

TEST(top_numbers, have_three_digits) {
  const number_case cases[] = {
    {0, "0"},          {1, "1"},          {0.5, "0.50"},     {0.004, "<0.01"},
    {9.994, "9.99"},   {9.996, "10.0"},   {99.94, "99.9"},   {99.96, "100"},
    {123.4, "123"},    {9'999, "9999"},   {9'999.4, "9999"}, {10'000, "10.0k"},
    {123'456, "123k"}, {999'499, "999k"}, {999'999, "1.0M"}, {-5, "-5"},
    {1e18, "1.0E"},    {1e30, ">999E"}};
  for (const auto& x : cases)
    EXPECT_EQ(ctl::short_number(x.number), x.text);
  EXPECT_EQ(ctl::percent_of({}), "-");
  EXPECT_EQ(ctl::percent_of(1), "100");
  EXPECT_EQ(ctl::percent_of(0.99999), "99.9");
  EXPECT_EQ(ctl::percent_of(0.00001), "<0.1");
  EXPECT_EQ(ctl::percent_of(0), "0");
}

// -- the table ----------------------------------------------------------------

class top_screen : public testing::Test {
protected:
  top_screen() : model(1s) {}

  void take(const std::vector<top_gate>& all, double at) {
    model.take_list(top_list(all), top_time(at));
    for (const auto& x : all)
      model.take_gate(x.name, top_row(x), top_time(at));
    notes.now = top_time(at);
  }

  void two_gates() {
    auto breaker = [](std::int64_t rejected) {
      return std::vector<answer>{
        top_layer("deadline", "", {{"admitted", 200}}),
        top_layer("breaker", "open", {{"rejected_open", rejected}})};
    };
    take({{.name = "catalog", .calls = 100},
          {.name = "payments", .calls = 100, .layers = breaker(0)}},
         0);
    take(
      {{.name = "catalog", .calls = 340},
       {.name = "payments", .calls = 300, .failed = 50, .layers = breaker(50)}},
      1);
    // The state shows in the list of the next time.
    model.take_list(top_list({{.name = "catalog", .calls = 340},
                              {.name = "payments",
                               .calls = 300,
                               .failed = 50,
                               .layers = breaker(50)}}),
                    top_time(1));
  }

  std::string draw(std::size_t columns, std::size_t rows) {
    std::string out;
    for (const auto& x :
         ctl::draw_screen(model, view, {columns, rows}, look, notes)) {
      EXPECT_EQ(x.width(), columns) << columns << 'x' << rows;
      auto text = x.text();
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + '\n';
    }
    return out;
  }

  ctl::top_model model;
  ctl::top_view view;
  ctl::terminal_look look;
  ctl::screen_notes notes{"/run/shop", 1s, {}};
};

TEST_F(top_screen, is_a_table_of_gates) {
  two_gates();
  EXPECT_EQ(draw(120, 6),
            "caisson top  2 gates, 1 needs attention  every 1 s  /run/shop\n"
            "gate        state▼        calls/s   ok %      p50      p99  flight"
            "  waits   rej/s  mostly                 last 70 s\n"
            "payments    breaker open      200   75.0        -        -       3"
            "      5      50  breaker rejected open               █\n"
            "catalog     accepting         240    100        -        -       3"
            "      5       0                                      █\n"
            "\n"
            "Enter open  / filter  left right sort  r reverse  p pause  ? help"
            "  q quit\n");
  EXPECT_THAT(draw(80, 6),
              HasSubstr("\ngate        state▼        calls/s   ok %      p99  "
                        "flight   rej/s  last 65 s\n"));
  EXPECT_THAT(draw(40, 6), HasSubstr("\ngate        state▼        calls/s   ok "
                                     "%\n"));
  EXPECT_THAT(draw(20, 6),
              HasSubstr("\ngate        calls/s\npayments        200\n"));
}

TEST_F(top_screen, fits_any_size) {
  two_gates();
  for (auto opened : {false, true})
    for (auto help : {false, true})
      for (auto error : {false, true}) {
        view.opened = opened ? "payments" : "";
        model.open(view.opened);
        view.help = help;
        if (error)
          model.lose("no " + std::string(300, 'x') + " here");
        for (std::size_t columns = 1; columns < 130; columns += 3)
          for (std::size_t rows = 1; rows < 40; rows += 2)
            EXPECT_EQ(
              ctl::draw_screen(model, view, {columns, rows}, look, notes)
                .size(),
              rows);
        for (std::size_t n = 1; n < 12; ++n)
          draw(n, n);
      }
}

TEST_F(top_screen, hostile_names_move_nothing) {
  std::mt19937 random{11};
  const std::string parts[] = {
    "\x1b[2J", "\xff", "水", "\u202e",
    "e\u0301", "\n",   "a",  "\U0001f468\u200d\U0001f469",
    "\r"};
  for (int run = 0; run < 50; ++run) {
    std::vector<top_gate> all;
    for (int i = 0; i < 10; ++i) {
      top_gate x{.name = std::to_string(i)};
      for (auto n = random() % 200; n > 0; --n)
        x.name += parts[random() % std::size(parts)];
      x.state = x.name;
      x.layers = {top_layer(x.name, x.name, {{x.name, 5}}, x.name)};
      all.push_back(x);
    }
    take(all, 2 * run);
    view.opened = run % 2 == 0 ? "" : all[0].name;
    model.open(view.opened);
    take(all, 2 * run + 1);
    model.take_events(
      {{"events",
        {{{"event", {{"gate", all[0].name}, {"time", all[0].name}}},
          {"text", all[0].name}}}}});
    for (std::size_t columns : {3, 40, 80, 200})
      for (auto line :
           ctl::draw_screen(model, view, {columns, 24}, look, notes)) {
        EXPECT_EQ(line.width(), columns);
        auto text = line.text();
        for (std::size_t i = 0; i < text.size();) {
          auto n = detail::utf8_length(std::string_view{text}.substr(i));
          ASSERT_GT(n, 0u);
          ASSERT_GE(static_cast<unsigned char>(text[i]), 0x20);
          i += n;
        }
      }
  }
}

TEST_F(top_screen, many_gates_scroll) {
  std::vector<top_gate> all;
  for (int i = 0; i < 1'000; ++i)
    all.push_back({.name = "gate-" + std::to_string(1'000 + i)});
  take(all, 0);
  EXPECT_THAT(draw(80, 24), HasSubstr("gate-1020"));
  EXPECT_THAT(draw(80, 24), Not(HasSubstr("gate-1021")));
  view.selected = "gate-1500";
  EXPECT_THAT(draw(80, 24), HasSubstr("gate-1500"));
  view.selected = "gate-1999";
  auto last = draw(80, 24);
  EXPECT_THAT(last, HasSubstr("gate-1999"));
  EXPECT_THAT(last, HasSubstr("gate-1979"));
  // It goes: another one takes its place.
  all.pop_back();
  take(all, 1);
  draw(80, 24);
  EXPECT_EQ(view.selected, "gate-1998");
  view.filter = "1234";
  auto found = draw(80, 24);
  EXPECT_THAT(found, HasSubstr("gate-1234"));
  EXPECT_THAT(found, HasSubstr("/1234"));
  view.filter = "none";
  EXPECT_THAT(draw(80, 24), HasSubstr("no gate matches the filter"));
}

TEST_F(top_screen, says_that_there_is_no_connection) {
  two_gates();
  model.lose("the program at 127.0.0.1:1 does not accept the token in /x: name "
             "another one");
  notes.now = top_time(13);
  auto text = draw(60, 12);
  EXPECT_THAT(text, HasSubstr("no connection, last numbers 12 s old"));
  EXPECT_THAT(text,
              HasSubstr("\nthe program at 127.0.0.1:1 does not accept the "
                        "token in /x:\nname another one\n"));
  EXPECT_THAT(text, HasSubstr("payments"));
  take({{.name = "a"}}, 14);
  EXPECT_THAT(draw(60, 12), Not(HasSubstr("no connection")));
  notes.now = top_time(22);
  EXPECT_THAT(draw(80, 12), HasSubstr("no answer yet, last numbers 8 s old"));
  view.paused = true;
  EXPECT_THAT(draw(60, 12), HasSubstr("paused, last numbers 8 s old"));
  take({}, 23);
  EXPECT_THAT(draw(60, 12), HasSubstr("the program has no gates here yet"));
}

TEST_F(top_screen, shows_the_layers_of_a_gate_and_its_events) {
  two_gates();
  view.opened = "payments";
  model.open(view.opened);
  auto gate = [](std::int64_t n) {
    auto row = top_row(
      {.name = "payments",
       .calls = 100 + 10 * n,
       .layers = {top_layer("deadline", "", {{"admitted", 10 * n}}),
                  top_layer("breaker", "half_open",
                            {{"automatic_state", 2},
                             {"failure_rate_permille", 125},
                             {"opened", 3},
                             {"probes_in_flight", n},
                             {"rejected_open", 2 * n},
                             {"score_permille", -1},
                             {"successes", 4 * n},
                             {"state", 2}})}});
    row["durations"] = {{{"what", "calls"},
                         {"ok", true},
                         {"count", 7},
                         {"p50_ns", 1'000'000},
                         {"p90_ns", 2'000'000},
                         {"p99_ns", 3'000'000},
                         {"max_ns", 4'000'000}},
                        {{"what", "waits"}, {"count", 9}, {"max_ns", 0}}};
    return row;
  };
  model.take_gate("payments", gate(1), top_time(2));
  model.take_gate("payments", gate(5), top_time(4));
  auto event = [](const char* stack, const char* time, const char* text) {
    return answer{{"event", {{"gate", stack}, {"time", time}, {"to", text}}},
                  {"text", text}};
  };
  model.take_events(
    {{"events",
      {event("payments", "2026-11-26T13:45:03.845048304Z", "breaker opened"),
       event("catalog", "2026-11-26T13:45:04Z", "not this one"),
       event("payments", "2026-11-26T13:45:05.1Z", "breaker closed")}},
     {"missed", 2}});
  EXPECT_EQ(
    draw(90, 16),
    "caisson top  2 gates, 1 needs attention  every 1 s  /run/shop\n"
    "payments  breaker open  worker up\n"
    "200 calls/s  75.0 % ok  in flight 3  waiting 5  4 rejected/s, mostly "
    "breaker rejected open\n"
    "                                                           █  calls, "
    "last 5 min\n"
    "\n"
    "layer     state      numbers\n"
    "deadline             admitted 20/s\n"
    "breaker   half open  rejected open 4/s  successes 8/s  failure rate 12.5 "
    "%\n"
    "                     probes in flight 5  opened 3\n"
    "\n"
    "calls ok: p50 1 ms  p90 2 ms  p99 3 ms  max 4 ms  (7)\n"
    "\n"
    "events (UTC)\n"
    "13:45:05.1Z  breaker closed\n"
    "13:45:03.845  breaker opened\n"
    "Esc back  up down scroll  p pause  ? help  q quit  2 events were "
    "missed\n");
  // It scrolls, and goes no further than its end.
  view.lines_above = 1'000;
  EXPECT_THAT(draw(90, 8), HasSubstr("13:45:03.845"));
  EXPECT_LT(view.lines_above, 1'000u);
  take({}, 5);
  EXPECT_THAT(draw(90, 30), HasSubstr("payments  this gate is gone"));
}

TEST_F(top_screen, prints_the_table_in_full) {
  auto name = std::string(100, 'n');
  take({{.name = name, .calls = 5}, {.name = "b"}}, 0);
  take({{.name = name, .calls = 15}, {.name = "b"}}, 1);
  auto lines = ctl::draw_table(model, view, 0, look, notes);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[2].text(), testing::StartsWith(name + "  accepting"));
  EXPECT_THAT(lines[2].text(), HasSubstr("  10  "));
  EXPECT_THAT(lines[0].text(), Not(HasSubstr("last")));
  look.utf8 = false;
  for (const auto& x : ctl::draw_table(model, view, 60, look, notes)) {
    EXPECT_LE(x.width(), 60u);
    EXPECT_THAT(x.text(), Each(testing::Lt('\x7f')));
  }
}

} // namespace
} // namespace caisson::test
