#include <ctl/command.hpp>

#include <ctl/options.hpp>
#include <ctl/session.hpp>

#include <simulator/command/cli_parts.hpp>

#include <caisson/policy/policy.hpp>
#include <caisson/settings/settings_text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::ctl {

namespace {

constexpr auto about =
  R"(Looks at the gates of a running program, and controls them. The program
must have a caisson::control_server, which writes the control file.
)";

constexpr auto footer = R"(Examples:
  export CAISSON_CONTROL=/run/shop/control
  caisson ctl list
  caisson ctl show payments --watch
  caisson ctl force_open payments --layer breaker --for 30s
  caisson ctl enable payments --layer breaker
  caisson ctl set payments --layer breaker minimum_calls=50
  caisson ctl drain payments
  caisson ctl events
  caisson ctl page

docs/control.md has more.

Exit status: 0 it is done, 2 it is not: bad usage, no such program or gate, a
wrong token, or the gate refuses.)";

struct operator_word {
  const char* name;
  const char* what;
  bool timed;
};

constexpr operator_word words[] = {
  {"force_open", "Make breakers reject every call", true},
  {"force_closed", "Make breakers admit every call", true},
  {"off", "Turn layers off: calls pass through them", false},
  {"observe", "Make layers decide and count, but change nothing", false},
  {"enable", "Undo the four above", false},
  {"reset", "Reset counters and states of layers", false},
};

CLI::Validator known_kind() {
  return {[](std::string& text) {
            std::vector<std::string_view> known;
            for (std::uint8_t i = 0; i <= last_event_kind; ++i)
              known.push_back(name_of(static_cast<event_kind>(i)));
            return std::ranges::find(known, text) != known.end()
                     ? std::string{}
                     : detail::not_one_of(detail::quoted(text), known);
          },
          {}};
}

// -- what is asked for --------------------------------------------------------

class command_line {
public:
  command_line() {
    app_.footer(footer);
    app_.require_subcommand(1);
    add_control_file(app_, args_.file);
    app_.add_flag("--json", args_.json, "Print JSON instead of text");
    app_.fallthrough();
    add_views();
    add_changes();
  }

  int run(int argc, const char* const* argv, std::ostream& out,
          std::ostream& err, const ctl_parts& parts) {
    try {
      check_word(argc, argv);
      app_.parse(argc, argv);
      session now{args_, out, err, parts};
      go(now);
    } catch (const CLI::ParseError& e) {
      // Help is no error.
      if (e.get_exit_code() == 0)
        return app_.exit(e, out, err);
      throw ctl_error{fmt::format("{}\nsee --help", e.what())};
    }
    return 0;
  }

private:
  // CLI11 would only say that a subcommand is required.
  void check_word(int argc, const char* const* argv) const {
    std::vector<std::string> known;
    for (auto* x : app_.get_subcommands({}))
      known.push_back(x->get_name());
    std::vector<std::string_view> views{known.begin(), known.end()};
    std::string_view first = "-";
    for (int i = 1; i < argc; ++i) {
      first = argv[i];
      if (first == "--file")
        ++i;
      else if (first != "--json" && !first.starts_with("--file="))
        break;
    }
    auto word = std::string{first};
    std::ranges::replace(word, '-', '_');
    if (first.starts_with('-') || std::ranges::find(views, word) != views.end())
      return;
    throw ctl_error{fmt::format(
      "unknown command {}{} known commands: {}", detail::quoted(first),
      detail::hint(detail::nearest(word, known)), detail::listed(views))};
  }

  void add_views() {
    add_repeats(*app_.add_subcommand("list", "List the gates"));
    auto show = with_gate("show", "Show one gate with its layers");
    auto settings = show->add_flag("--settings", args_.settings,
                                   "Show the settings of its layers");
    add_layer(*show, "Only the settings of this layer")->needs(settings);
    add_repeats(*show);
    auto events = app_.add_subcommand("events", "Follow events");
    events->add_option("GATE", args_.gates, "Only events of these gates");
    events
      ->add_option("--kind", args_.kinds,
                   "Only events of this kind, such as state_changed; may\n"
                   "be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->check(known_kind());
    add_count(*events, "End after N events");
  }

  void add_changes() {
    for (const auto& x : words) {
      auto to = with_gate(x.name, x.what);
      // As other programs spell such words.
      std::string hyphened = x.name;
      std::ranges::replace(hyphened, '_', '-');
      if (hyphened != x.name)
        to->alias(hyphened);
      add_layer(*to, "Only this layer (default: each that knows the\n"
                     "command)");
      if (x.timed)
        to->add_option("--for", args_.for_time,
                       "Only for this time, such as 30s")
          ->type_name("TIME")
          ->check(sim::not_empty());
    }
    auto set = with_gate("set", "Change settings of a layer");
    set
      ->add_option("SETTING=VALUE", args_.set,
                   "As in gate files, such as minimum_calls=50")
      ->required();
    add_layer(*set, "Settings of this layer (default: the one that has\n"
                    "them)");
    with_gate("drain", "Make a gate take no more calls and finish those it has")
      ->add_option("--wait", args_.wait,
                   "Maximum wait for the last call (default: 30s)")
      ->type_name("TIME");
    app_.add_subcommand("page",
                        "Print a link that opens the page of the gates\n"
                        "in a browser");
    app_.add_subcommand("reload", "Reload gate files")
      ->add_option("--why", args_.why, "The reason, for events")
      ->type_name("TEXT");
  }

  CLI::App* with_gate(const char* name, const char* what) {
    auto out = app_.add_subcommand(name, what);
    out->add_option("GATE", args_.gate, "The name of the gate")
      ->required()
      ->check(sim::not_empty());
    return out;
  }

  CLI::Option* add_layer(CLI::App& to, const char* what) {
    return to.add_option("--layer", args_.layer, what)
      ->type_name("NAME")
      ->check(sim::not_empty());
  }

  void add_count(CLI::App& to, const char* what) {
    to.add_option("--count", args_.count, what)
      ->type_name("N")
      ->check(sim::not_empty());
  }

  void add_repeats(CLI::App& to) {
    to.add_flag("--watch", args_.watch, "Redraw every second");
    to.add_option("--every", args_.every,
                  "Redraw at this interval, such as 500ms")
      ->type_name("TIME")
      ->check(sim::not_empty());
    add_count(to, "End after drawing it N times");
  }

  void go(session& now) {
    if (app_.got_subcommand("list"))
      return now.list();
    if (app_.got_subcommand("show"))
      return now.show();
    if (app_.got_subcommand("set"))
      return now.set();
    if (app_.got_subcommand("drain"))
      return now.drain();
    if (app_.got_subcommand("page"))
      return now.page();
    if (app_.got_subcommand("reload"))
      return now.reload();
    if (app_.got_subcommand("events"))
      return now.events();
    for (const auto& x : words)
      if (app_.got_subcommand(x.name))
        return now.carry_out(x.name);
  }

  CLI::App app_{about, "caisson ctl"};
  arguments args_;
};

} // namespace

int command_main(int argc, const char* const* argv, std::ostream& out,
                 std::ostream& err, const ctl_parts& parts) {
  return guarded_command("caisson ctl", out, err, [&] {
    return command_line{}.run(argc, argv, out, err, parts);
  });
}

} // namespace caisson::ctl
