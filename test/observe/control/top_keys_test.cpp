// Keys of a terminal, and what they do in `caisson top`.
#include <ctl/top/controls.hpp>
#include <ctl/top/keys.hpp>

#include <observe/control/top_gates.hpp>

#include <gmock/gmock.h>

#include <random>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using ctl::gate_column;
using ctl::key;
using ctl::key_kind;
using ctl::top_order;

// Short for tables: characters as they are, others by their names.
std::string names_of(const std::vector<key>& all) {
  constexpr const char* names[] = {
    "",     "enter", "escape", "backspace", "up",  "down", "left",   "right",
    "home", "end",   "pgup",   "pgdn",      "int", "susp", "redraw", "clear"};
  std::string out;
  for (const auto& x : all)
    out += (out.empty() ? "" : " ")
           + (x.kind == key_kind::character
                ? x.text
                : names[static_cast<std::size_t>(x.kind)]);
  return out;
}

struct bytes_case {
  std::string bytes;
  std::string keys;
  // Once nothing follows.
  std::string rest;
};

TEST(top_keys, are_what_terminals_send) {
  const bytes_case cases[] = {
    {"q", "q", ""},
    {"aé水", "a é 水", ""},
    {"\r", "enter", ""},
    {"\n", "enter", ""},
    {"\x7f\b", "backspace backspace", ""},
    {"\x03\x1a\x0c\x15", "int susp redraw clear", ""},
    {"\x1b[A\x1bOB\x1b[C\x1b[D", "up down right left", ""},
    {"\x1b[5~\x1b[6~\x1b[H\x1b[4~", "pgup pgdn home end", ""},
    {"\x1b", "", "escape"},
    {"\x1b\x1b[A", "escape up", ""},
    {"\x1b[", "", "escape ["},
    {"\x1bO", "", "escape O"},
    {"\x1bx", "escape x", ""},
    // What is not known does nothing.
    {"\x1b[1;5Aq", "q", ""},
    {"\x1b[200~q", "q", ""},
    {"\x1b[M", "", ""},
    {"\x01\x02q", "q", ""},
    {"\xff\xc3q", "q", ""},
    {"\xe6\xb0", "", ""}};
  for (const auto& x : cases) {
    // In one piece, and byte by byte.
    for (auto whole : {true, false}) {
      ctl::key_decoder decoder;
      std::vector<key> got;
      if (whole)
        got = decoder.take(x.bytes);
      else
        for (char c : x.bytes)
          for (auto& k : decoder.take({&c, 1}))
            got.push_back(k);
      EXPECT_EQ(names_of(got), x.keys) << x.keys << whole;
      EXPECT_EQ(names_of(decoder.finish()), x.rest) << x.keys << whole;
    }
  }
}

TEST(top_keys, a_sequence_that_does_not_end_holds_nothing_up) {
  ctl::key_decoder decoder;
  auto got = decoder.take("\x1b[" + std::string(1'000, '1') + "q");
  EXPECT_EQ(got.back().text, "q");
  EXPECT_FALSE(decoder.is_waiting());
}

TEST(top_keys, any_bytes_end) {
  std::mt19937 random{3};
  const std::string bytes = "\x1b[O1;~A\xe6\xb0\xb4\xffq\x03";
  for (int run = 0; run < 2'000; ++run) {
    ctl::key_decoder decoder;
    for (int i = 0; i < 30; ++i) {
      char c = bytes[random() % bytes.size()];
      for (const auto& k : decoder.take({&c, 1}))
        EXPECT_EQ(k.kind == key_kind::character, !k.text.empty());
    }
    static_cast<void>(decoder.finish());
    ASSERT_EQ(names_of(decoder.take("q")).back(), 'q');
  }
}

// -- what they do -------------------------------------------------------------

class top_controls : public testing::Test {
protected:
  top_controls() : model(1s) {
    take({{.name = "alpha", .calls = 10},
          {.name = "beta", .calls = 30, .worker = "down"},
          {.name = "gamma", .calls = 20}},
         0);
    take({{.name = "alpha", .calls = 20},
          {.name = "beta", .calls = 31, .worker = "down"},
          {.name = "gamma", .calls = 50, .failed = 15}},
         1);
  }

  void take(const std::vector<top_gate>& all, double at) {
    model.take_list(top_list(all), top_time(at));
  }

  // Types it, and returns the last order.
  top_order type(std::string_view bytes) {
    auto out = top_order::none;
    ctl::key_decoder decoder;
    auto all = decoder.take(bytes);
    for (auto& x : decoder.finish())
      all.push_back(x);
    for (const auto& x : all)
      out = ctl::press(x, view, model, 10);
    return out;
  }

  std::string rows() {
    std::string out;
    for (const auto* x : ctl::rows_of(model, view))
      out += (out.empty() ? "" : " ") + x->name;
    return out;
  }

  ctl::top_model model;
  ctl::top_view view;
};

TEST_F(top_controls, sort_by_columns) {
  EXPECT_EQ(rows(), "beta alpha gamma");
  type("\x1b[C");
  EXPECT_EQ(view.sorted_by, gate_column::calls);
  EXPECT_EQ(rows(), "gamma alpha beta");
  type("r");
  EXPECT_EQ(rows(), "beta alpha gamma");
  type("r>");
  // The worst success first.
  EXPECT_EQ(view.sorted_by, gate_column::success);
  EXPECT_EQ(rows(), "gamma alpha beta");
  type("<<\x1b[D");
  EXPECT_EQ(view.sorted_by, gate_column::name);
  EXPECT_EQ(rows(), "alpha beta gamma");
  type("r");
  EXPECT_EQ(rows(), "gamma beta alpha");
  // All around.
  for (int i = 0; i < 9; ++i)
    type(">");
  EXPECT_EQ(view.sorted_by, gate_column::name);
}

TEST_F(top_controls, move_and_open) {
  type("jj");
  EXPECT_EQ(view.selected, "gamma");
  type("jk");
  EXPECT_EQ(view.selected, "alpha");
  type("G");
  EXPECT_EQ(view.selected, "gamma");
  type("\x1b[5~");
  EXPECT_EQ(view.selected, "beta");
  type("j\r");
  EXPECT_EQ(view.opened, "alpha");
  type("jjjk");
  EXPECT_EQ(view.lines_above, 2u);
  type("\x1b");
  EXPECT_EQ(view.opened, "");
  EXPECT_EQ(view.selected, "alpha");
}

TEST_F(top_controls, the_selection_stays_at_its_place_when_its_gate_goes) {
  type("j");
  view.place = 1;
  take({{.name = "beta", .worker = "down"}, {.name = "gamma"}}, 2);
  auto now = ctl::rows_of(model, view);
  EXPECT_EQ(now[ctl::selected_place(now, view)]->name, "gamma");
  take({{.name = "beta"}}, 3);
  now = ctl::rows_of(model, view);
  EXPECT_EQ(ctl::selected_place(now, view), 0u);
  take({}, 4);
  EXPECT_EQ(ctl::selected_place(ctl::rows_of(model, view), view), 0u);
  EXPECT_EQ(type("jkG\r"), top_order::none);
  EXPECT_EQ(view.opened, "");
}

TEST_F(top_controls, filter_names) {
  type("/AM");
  EXPECT_TRUE(view.typing);
  EXPECT_EQ(rows(), "gamma");
  // Keys of commands are text here.
  type("q");
  EXPECT_EQ(rows(), "");
  type("\x7f\r");
  EXPECT_FALSE(view.typing);
  EXPECT_EQ(rows(), "gamma");
  type("/é");
  EXPECT_EQ(view.filter, "AMé");
  type("\x7f");
  EXPECT_EQ(view.filter, "AM");
  type("\x15");
  EXPECT_EQ(view.filter, "");
  EXPECT_TRUE(view.typing);
  type("\x7f");
  EXPECT_FALSE(view.typing);
  type("/a\x1b");
  EXPECT_FALSE(view.typing);
  EXPECT_EQ(view.filter, "");
  type("/" + std::string(1'000, 'x') + "\r");
  EXPECT_EQ(view.filter.size(), 100u);
  type("\x1b");
  EXPECT_EQ(view.filter, "");
}

TEST_F(top_controls, pause_help_and_quit) {
  type("p");
  EXPECT_TRUE(view.paused);
  type("p?");
  EXPECT_FALSE(view.paused);
  EXPECT_TRUE(view.help);
  type("p");
  EXPECT_FALSE(view.help);
  EXPECT_FALSE(view.paused);
  EXPECT_EQ(type("q"), top_order::quit);
  EXPECT_EQ(type("?q"), top_order::quit);
  EXPECT_EQ(type("/\x03"), top_order::quit);
  view.typing = false;
  EXPECT_EQ(type("\x1a"), top_order::suspend);
  EXPECT_EQ(type("\x0c"), top_order::redraw);
}

// -- scrolling ----------------------------------------------------------------

TEST(top_rows, the_selected_one_is_always_on_the_screen) {
  std::mt19937 random{5};
  std::size_t above = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto rows = 1 + random() % 50;
    auto height = random() % 12;
    auto selected = random() % rows;
    above = ctl::rows_above(above, selected, rows, height);
    auto shown = std::max<std::size_t>(1, height);
    ASSERT_LE(above, selected);
    ASSERT_LT(selected, above + shown);
    ASSERT_TRUE(above == 0 || above + shown <= rows);
  }
}

} // namespace
} // namespace caisson::test
