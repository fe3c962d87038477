#include <caisson/observe/detail/metric_names.hpp>

#include <caisson/observe/detail/labels.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <algorithm>

namespace caisson::detail {

namespace {

constexpr auto counted = metric_type::counter;
constexpr auto measured_now = metric_type::gauge;

// clang-format off: a table.
constexpr gate_metric all_gate_metrics[] = {
  {"calls", "caisson_calls_total", counted,
   "Messages for the worker that have arrived, with those refused at once."},
  {"plain_sends", "caisson_plain_sends_total", counted,
   "Of the calls: those whose sender waits for no answer."},
  {"acquires", "caisson_acquires_total", counted,
   "Requests for permits that have arrived."},
  {"attempts", "caisson_attempts_total", counted,
   "Messages sent to the worker or an alternative; a batch is one."},
  {"late_results", "caisson_late_results_total", counted,
   "Answers to attempts that were over."},
  {"expired", "caisson_expired_calls_total", counted,
   "Calls, leases and batches that passed the caller's or default deadline."},
  {"expired_on_arrival", "caisson_expired_on_arrival_calls_total", counted,
   "Calls refused because their deadline had come."},
  {"cancelled", "caisson_cancelled_calls_total", counted,
   "Calls and leases whose caller died or cancelled them."},
  {"no_such_permit", "caisson_unknown_permits_total", counted,
   "Messages that release or renew a permit that their sender does not hold."},
  {"renewals", "caisson_lease_renewals_total", counted,
   "Permits that were renewed."},
  {"callbacks_failed", "caisson_callback_failures_total", counted,
   "Functions of the user's that threw."},
  {"dead_letters", "caisson_dead_letters_total", counted,
   "Calls that failed for good and were sent to the gate's dead letters."},
  {"worker_losses", "caisson_worker_losses_total", counted,
   "Times the worker was lost."},
  {"worker_restarts", "caisson_worker_restarts_total", counted,
   "Restarts of the worker."},
  {"worker_group_stops", "caisson_worker_group_stops_total", counted,
   "Times its supervision group stopped the worker."},
  {"worker_gave_up", "caisson_worker_give_ups_total", counted,
   "Workers given up after too many restarts within their period."},
  {"worker_gave_up_schedule", "caisson_worker_schedule_ends_total", counted,
   "Workers given up at the end of their restart schedule."},
  {"worker_ended", "caisson_worker_ends_total", counted,
   "Workers that have ended and were not to be started again."},
  {"in_progress", "caisson_calls_in_progress", measured_now,
   "Calls, leases and batches that the gate holds."},
  {"held", "caisson_calls_held", measured_now,
   "Calls that a layer holds: in a queue, a backoff or a batch."},
  {"waiting_for_worker", "caisson_calls_waiting_for_worker", measured_now,
   "Calls that wait for the worker to start."},
  {"in_flight", "caisson_messages_in_flight", measured_now,
   "Messages with the worker or an alternative."},
  {"leases", "caisson_leases", measured_now, "Permits with a holder."},
  {"timers", "caisson_timers", measured_now, "Timers of calls."},
};
// clang-format on

struct unit {
  std::string_view suffix;
  std::string_view base;
  double scale;
};

constexpr unit units[] = {
  {"_permille", "_ratio", 1e-3}, {"_ppm", "_ratio", 1e-6},
  {"_ns", "_seconds", 1e-9},     {"_us", "_seconds", 1e-6},
  {"_ms", "_seconds", 1e-3},
};

const kind_gauge* find_gauge(const policy_kind& kind, std::string_view name) {
  for (const auto& x : kind.gauges)
    if (*x.label == '\0' ? name == x.name : name.starts_with(x.name))
      return &x;
  return nullptr;
}

// Changes a name to that of its base unit.
double use_base_unit(std::string& name) {
  for (const auto& x : units)
    if (name.ends_with(x.suffix)) {
      name.replace(name.size() - x.suffix.size(), x.suffix.size(), x.base);
      return x.scale;
    }
  return 1;
}

// These are about all layers, or have endings that mean something else.
bool is_taken(std::string_view name) {
  constexpr std::string_view taken[] = {"state", "mode", "position"};
  constexpr std::string_view endings[] = {"_total", "_count", "_sum", "_bucket",
                                          "_info"};
  return std::find(std::begin(taken), std::end(taken), name) != std::end(taken)
         || std::any_of(std::begin(endings), std::end(endings),
                        [&](auto x) { return name.ends_with(x); });
}

std::string name_in_metrics(const kind_gauge& x) {
  std::string out{x.metric.empty() ? x.name : x.metric};
  use_base_unit(out);
  return out;
}

// A metric has one help, whichever kinds have it.
const char* help_of(std::string_view metric) {
  const auto* help
    = metric == "keys"
        ? "Keys that a layer knows at present."
        : "A gauge of a policy; the page of its kind describes it.";
  detail::find_kind_if([&](const policy_kind& kind) {
    auto i = std::find_if(kind.gauges.begin(), kind.gauges.end(), [&](auto& x) {
      return name_in_metrics(x) == metric;
    });
    if (i == kind.gauges.end())
      return false;
    help = i->help;
    return true;
  });
  return help;
}

} // namespace

std::span<const gate_metric> gate_metrics() {
  return all_gate_metrics;
}

gauge_form form_of_gauge(std::string_view kind, std::string_view name) {
  gauge_form form;
  std::string own{name};
  const auto* known = find_policy_kind(kind);
  if (const auto* x = known ? find_gauge(*known, name) : nullptr) {
    if (!x->metric.empty())
      own = x->metric;
    form.label = x->label;
    if (*x->label != '\0')
      form.about = label_text(name.substr(x->name.size()));
  }
  if (form.about.empty()) {
    form.scale = use_base_unit(own);
    form.negative_is_none = form.scale != 1;
  }
  own = metric_name(own);
  form.help = help_of(own);
  form.name = "caisson_layer_" + own + (is_taken(own) ? "_value" : "");
  return form;
}

std::span<const std::string_view> states_of_kind(std::string_view kind) {
  const auto* known = find_policy_kind(kind);
  return known ? std::span<const std::string_view>{known->states}
               : std::span<const std::string_view>{};
}

} // namespace caisson::detail
