"""The rows of the dashboard about gates as a whole, and its annotations."""

from parts import (BY_LAYER, FAULTY, GOOD, MISUSED, REJECTED, WELL, Panel, Row,
                   bad_from, good_from, known, lines, outcomes, quantile, share,
                   stat, states, success, worst)

OPEN = ('max by (job, instance, gate) (caisson_layer_state'
        '{G, kind="breaker", state=~"open|forced_open"}) == 1')
NOT_UP = ('max by (job, instance, gate, replica) (caisson_worker_state'
          '{G, state=~"restarting|down|given_up"}) == 1')
NOT_ENFORCED = 'caisson_layer_mode{L, mode=~"observe|off"} == 1'

# Shown as bands across all panels: name, colour, query, text.
ANNOTATIONS = [
    ("A breaker is open", "red",
     'max by (gate, layer) (caisson_layer_state{L, kind="breaker", '
     'state=~"open|forced_open"}) == 1', "{{gate}} / {{layer}}"),
    ("A worker is not up", "purple",
     'max by (gate, state) (caisson_worker_state'
     '{G, state=~"restarting|down|given_up"}) == 1', "{{gate}}: {{state}}"),
    ("A gate drains", "orange",
     'max by (gate) (caisson_gate_state{G, state="draining"}) == 1',
     "{{gate}}"),
    ("A canary is rolled back", "blue",
     'max by (gate, layer) (caisson_layer_state{L, kind="canary", '
     'state="rolled_back"}) == 1', "{{gate}} / {{layer}}"),
]

TOTALS = Row("Totals", closed=False, panels=[
    stat("Calls", "cps", "Calls that arrive, a second, with those refused at "
         "once.", "sum(rate(caisson_calls_total{G}[W]))"),
    stat("Success", "percentunit", "Of the calls that ended: those answered "
         "well. Green from 99 % on, red below 95 %.", success(""), WELL),
    stat("P99", "s", "99 of 100 calls end within this time, waits and retries "
         "included.", known(quantile(0.99, "call_duration_seconds", ""))),
    stat("Gates with an open breaker", "short", "Also those forced open. "
         "Breakers that are half-open do not count.",
         f"count({OPEN}) or vector(0)", bad_from(1)),
    stat("Rejected", "cps", "Calls that a layer or the gate has rejected "
         "before any work, a second.",
         outcomes(REJECTED, ""), bad_from(1, "orange")),
    stat("In flight", "short", "Messages with the workers.",
         "sum(caisson_messages_in_flight{G})"),
    stat("Gates", "short", "Gates with metrics, in the chosen programs.",
         "sum(caisson_gates{P})"),
    stat("Gates without metrics", "short", "There are more than max_gates.",
         "sum(caisson_gates_left_out{P})", bad_from(1)),
    stat("Workers not up", "short", "Restarting, down or given up.",
         f"count({NOT_UP}) or vector(0)", bad_from(1)),
    stat("Gates that drain", "short", "They take no more calls.",
         'sum(caisson_gate_state{G, state="draining"})',
         bad_from(1, "orange")),
    stat("Layers that do not enforce", "short", "In the mode observe or off.",
         f"count({NOT_ENFORCED}) or vector(0)", bad_from(1, "orange")),
    stat("Faults in code, 1 h", "short", "Functions of yours that threw, and "
         "calls that ended by internal_error.",
         "sum(increase(caisson_callback_failures_total{G}[1h])) + "
         "(sum(increase(caisson_outcomes_total"
         '{G, outcome="internal_error"}[1h])) or vector(0))', bad_from(0.5)),
])

GATES = Row("Gates", closed=False, pages=("operation",), panels=[
    states("Breakers", "With several replicas or instances, the worst state.",
           worst("caisson_layer_state", "half_open", "open|forced_open",
                 "gate, layer", 'L, kind="breaker"'), BY_LAYER,
           {0: ("closed", "green"), 1: ("half-open", "yellow"),
            2: ("open", "red")}, width=24, pages=("breaker",)),
    Panel("table", "Each gate", "short", "At the end of the time shown.", [
        ("Calls", "sum by (gate) (rate(caisson_calls_total{G}[W]))"),
        ("Success", success("gate")),
        ("P99", quantile(0.99, "call_duration_seconds")),
        ("In progress", "sum by (gate) (caisson_calls_in_progress{G})"),
        ("Rejected", outcomes(REJECTED, "gate")),
        ("Attempts per call", share(
            "sum by (gate) (rate(caisson_attempts_total{G}[W]))",
            "sum by (gate) (rate(caisson_calls_total{G}[W]))"))],
        columns=(("Calls", "cps", None), ("Success", "percentunit", WELL),
                 ("P99", "s", None), ("Rejected", "cps", None)),
        hidden=("Time", *(f"Time {n}" for n in range(1, 7))),
        sorted_by="Success", width=24),
    lines("Goodput against offered load", "cps", "Calls that arrive, and "
          "those that succeed.",
          ("offered", "sum(rate(caisson_calls_total{G}[W]))"),
          ("goodput", outcomes("succeeded", ""))),
    lines("Success of each gate", "percentunit", "Of the calls that ended.",
          ("{{gate}}", success("gate")), limits=WELL, top=1),
    lines("Durations of calls, P99", "s", "With waits and retries.",
          ("{{gate}}", quantile(0.99, "call_duration_seconds"))),
    lines("Used of the time limit, P99", "percentunit", "How much of the time "
          "until its deadline a call has used. Near 100 % the next slow answer "
          "is too late.",
          ("{{gate}}", quantile(0.99, "call_limit_used_ratio")),
          limits=bad_from(0.9, "orange"), top=1, pages=("deadline",)),
    lines("Calls in progress", "short", "With the gates, in whatever layer.",
          ("{{gate}}", "sum by (gate) (caisson_calls_in_progress{G})")),
    lines("Messages in flight", "short", "With the workers.",
          ("{{gate}}", "sum by (gate) (caisson_messages_in_flight{G})")),
    states("Workers", "With several replicas or instances, the worst state.",
           worst("caisson_worker_state", "restarting", "down|given_up", "gate"),
           "{{gate}}", {0: ("up", "green"), 1: ("restarting", "yellow"),
                        2: ("down", "red")}, pages=("supervision",)),
    lines("Losses and restarts of workers", "short", "In five minutes.",
          ("{{gate}}: lost", "sum by (gate) "
           "(increase(caisson_worker_losses_total{G}[5m])) > 0"),
          ("{{gate}}: restarted", "sum by (gate) "
           "(increase(caisson_worker_restarts_total{G}[5m])) > 0"),
          ("{{gate}}: given up", "sum by (gate) "
           "(increase(caisson_worker_give_ups_total{G}[5m]) + "
           "increase(caisson_worker_schedule_ends_total{G}[5m])) > 0"),
          ("{{gate}}: stopped by its group", "sum by (gate) "
           "(increase(caisson_worker_group_stops_total{G}[5m])) > 0"),
          pages=("supervision",)),
])

OBJECTIVE = Row("Objective (needs rules.yml)", pages=("operation",), panels=[
    lines("Burn rate", "short", "How many times as fast as allowed calls fail, "
          "in the last hour and in the last six. At 1, failures last as long "
          "as the objective allows; from 14.4 in an hour, or 6 in six hours, "
          "there is an alert.",
          *((f"{{{{gate}}}}, {window}",
             f"job_gate:caisson_calls_failed:ratio_rate{window}{{S}} / "
             "(1 - job_gate:caisson_objective:ratio{S})")
            for window in ("1h", "6h")),
          limits=[("green", None), ("orange", 6), ("red", 14.4)]),
    lines("Left of what may fail, 3 days", "percentunit", "100 %: nothing has "
          "failed; below 0, more has failed than the objective allows.",
          ("{{gate}}", "1 - job_gate:caisson_calls_failed:ratio_rate3d{S} / "
           "(1 - job_gate:caisson_objective:ratio{S})"),
          limits=good_from(0.5, 0), bottom=None, top=1),
])

FAILURES = Row("Failures by reason", closed=False, pages=("errors",), panels=[
    lines("Rejected before any work", "cps", "By layers, and by gates that "
          "drain or are full.",
          ("{{outcome}}", outcomes(REJECTED) + " > 0"), stacked=True),
    lines("Failed", "cps", "With errors of the worker (other_error), or of "
          "Caisson.", ("{{outcome}}", outcomes(
              f"{GOOD}|{REJECTED}|{MISUSED}|{FAULTY}", op="!~") + " > 0"),
          stacked=True),
    lines("Failures of each gate", "percentunit", "Of the calls that ended.",
          ("{{gate}}: {{outcome}}", outcomes(GOOD, "gate, outcome", op="!~")
           + " / on (gate) group_left () sum by (gate) "
           "(rate(caisson_outcomes_total{G}[W])) > 0")),
    lines("Answers of workers by class", "cps", "Nothing, if no gate "
          "classifies answers.",
          ("{{class}}", "sum by (class) "
           "(rate(caisson_answers_total{G}[W])) > 0"),
          stacked=True, pages=("answers",)),
    lines("Too late or cancelled", "cps", "Answers to attempts that were over; "
          "calls that passed their deadline, or came after it; calls whose "
          "caller had gone.",
          *((name, f"sum(rate(caisson_{metric}_total{{G}}[W]))")
            for name, metric in (
                ("late answers", "late_results"),
                ("expired", "expired_calls"),
                ("expired on arrival", "expired_on_arrival_calls"),
                ("cancelled", "cancelled_calls")))),
    lines("Mistakes in code", "cps", "Calls that cannot be right, functions "
          "that threw, and faults in Caisson or in policies of yours.",
          ("{{gate}}: {{outcome}}",
           outcomes(f"{MISUSED}|{FAULTY}", "gate, outcome") + " > 0"),
          ("{{gate}}: functions that threw", "sum by (gate) "
           "(rate(caisson_callback_failures_total{G}[W])) > 0"),
          ("{{gate}}: unknown permits", "sum by (gate) "
           "(rate(caisson_unknown_permits_total{G}[W])) > 0")),
])

ROWS = [TOTALS, GATES, OBJECTIVE, FAILURES]
