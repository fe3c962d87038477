"""The rows of the dashboard for each kind of layer, and for one gate."""

from parts import (BY_LAYER, Panel, Row, bad_from, decided, decisions, gauge,
                   lines, quantile, share, states)

LENDING = "semaphore|adaptive_limit"
BOUND = ('(caisson_layer_permits{L, kind="semaphore"} or '
         'caisson_layer_limit{L, kind="adaptive_limit"})')


def rates(title, about, kind, which, **more):
    """What layers of a kind decide, one line for each decision."""
    return lines(title, "cps", about, decided(kind, which), **more)


def increases(title, about, kind, which):
    """How often layers of a kind decided so in five minutes."""
    return lines(title, "short", about, (
        BY_LAYER + ": {{decision}}", "sum by (gate, layer, decision) (increase("
        f'caisson_layer_decisions_total{{L, kind="{kind}", '
        f'decision=~"{which}"}}[5m])) > 0'))


def two_states(title, kind, usual, other):
    return states(title, f"Red while a layer is {other}.",
                  f'max by (gate, layer) (caisson_layer_state{{L, '
                  f'kind="{kind}", state="{other}"}})', BY_LAYER,
                  {0: (usual, "green"), 1: (other, "red")})


BREAKERS = Row("Breakers", pages=("breaker",), panels=[
    rates("Rejected calls", "By the state that the breaker was in.",
          "breaker", "rejected_.*"),
    lines("Failures in the window", "percentunit", "A breaker opens at its "
          "failure_rate. Only those with a window, while closed.",
          (BY_LAYER, gauge("failure_rate_ratio", "breaker", how="max")),
          (BY_LAYER + ": slow", gauge("slow_rate_ratio", "breaker",
                                      how="max")), top=1),
    lines("Failures in a row, results in the window", "short", "Failures "
          "towards the threshold; and whether the window has results enough "
          "to judge. While closed.",
          (BY_LAYER + ": in a row", gauge("failure_streak", "breaker",
                                          how="max")),
          (BY_LAYER + ": in the window", gauge("window_results", "breaker",
                                               how="max"))),
    increases("Changes of state", "In five minutes.", "breaker",
              "opened|half_opened|reopened|closed|half_open_timeouts"),
    lines("Probes", "short", "In flight, while half-open; and how often a "
          "breaker has opened since it was last closed.",
          (BY_LAYER + ": in flight", gauge("probes_in_flight", "breaker")),
          (BY_LAYER + ": openings in a row",
           gauge("openings_in_a_row", "breaker", how="max"))),
    lines("Let through after closing", "percentunit", "Less than 100 % during "
          "a ramp, 0 while the breaker is not closed.",
          (BY_LAYER, gauge("ramp_ratio", "breaker", how="min")), top=1),
])

RETRIERS = Row("Retriers", pages=("retrier",), panels=[
    lines("Retries in all attempts", "percentunit", "What retriers add to the "
          "load of the workers.",
          ("{{gate}}", share(decisions("retrier", "retried", "gate"),
                             "sum by (gate) "
                             "(rate(caisson_attempts_total{G}[W]))")),
          limits=bad_from(0.2, "orange")),
    lines("First attempts that fail", "percentunit", "Retries hide these from "
          "callers.",
          (BY_LAYER, share(
              decisions("retrier", "first_try_failed", "gate, layer"),
              decisions("retrier", "first_try_ok|first_try_failed",
                        "gate, layer"))),
          limits=bad_from(0.2, "orange"), top=1),
    rates("What became of calls", "Succeeded at once, recovered by a retry, or "
          "given up, by the reason.", "retrier",
          "succeeded|recovered|not_.*|gave_up_.*"),
    lines("Budget left", "short", "Retries that the budget still pays for, "
          "when it was last used.",
          (BY_LAYER, gauge("budget_left", "retrier", how="min"))),
    lines("Calls in backoff or verification", "short", "They wait for the next "
          "attempt, or for word whether the last one was carried out.",
          (BY_LAYER + ": in backoff", gauge("waiting", "retrier")),
          (BY_LAYER + ": in verification", gauge("verifying", "retrier"))),
    states("Alarm", "Red while first attempts fail behind retries.",
           gauge("alarm", "retrier", how="max"), BY_LAYER,
           {0: ("quiet", "green"), 1: ("raised", "red")}),
])

DEADLINES = Row("Deadlines", pages=("deadline",), panels=[
    rates("Calls that were late", "On arrival, with too little time left, or "
          "while they were with the worker.", "deadline",
          "expired_on_arrival|too_little_left|expired|overran"),
    lines("Learned time limits", "s", "Only of layers that learn them; per key "
          "the longest.",
          (BY_LAYER, gauge("limit_seconds", "deadline", how="max"))),
])

LIMITERS = Row("Limiters", pages=("limiter",), panels=[
    rates("Decisions", "Passed at once or after a wait, or rejected.",
          "limiter", "passed|granted|reserved|rate_limited|past_deadline|queue_full|"
          "too_heavy|timed_out|gave_up"),
    lines("Tokens left", "short", "After the last call.",
          (BY_LAYER, gauge("tokens", "limiter"))),
    lines("Calls that wait", "short", "For a token.",
          (BY_LAYER, gauge("waiting", "limiter")),
          (BY_LAYER + ": promised", gauge("promised", "limiter") + " > 0")),
    lines("Mean wait", "s", "Of calls that waited and then passed.",
          (BY_LAYER, "1e-6 * " + share(
              decisions("limiter", "waited_us_granted", "gate, layer"),
              decisions("limiter", "granted", "gate, layer")))),
])

PERMITS = Row("Semaphores, adaptive limits and their queues",
              pages=("semaphore", "adaptive-limit", "queues"), panels=[
    lines("Permits in use", "percentunit", "Of those that there are. At 100 % "
          "calls wait, or are rejected.",
          (BY_LAYER, f'sum by (gate, layer) (caisson_layer_in_use{{L, '
           f'kind=~"{LENDING}"}}) / sum by (gate, layer) {BOUND}'),
          limits=bad_from(0.9, "orange")),
    lines("Limits", "short", "Of semaphores as configured, of adaptive limits "
          "as found.", (BY_LAYER, f"sum by (gate, layer) {BOUND}")),
    lines("Calls that wait", "short", "For a permit.",
          (BY_LAYER, gauge("waiting", LENDING))),
    lines("Waits before the first attempt, P99", "s", "In all layers of the "
          "gate.", ("{{gate}}", quantile(0.99, "wait_duration_seconds"))),
    rates("Calls rejected", "On arrival: queue_full, too_heavy, hopeless; "
          "the others while they waited.", LENDING,
          "queue_full|too_heavy|hopeless|out_of_time|timed_out|gave_up|shed|"
          "evicted|outgrown"),
    lines("Mean wait", "s", "Of calls that waited and then got a permit.",
          (BY_LAYER, "1e-6 * " + share(
              decisions(LENDING, "waited_us_granted", "gate, layer"),
              decisions(LENDING, "granted", "gate, layer")))),
    lines("Latencies of adaptive limits", "s", "Of the last window, and "
          "without load, as it believes. The limit falls while the first is "
          "well above the second.",
          (BY_LAYER, gauge("latency_seconds", "adaptive_limit", how="max")),
          (BY_LAYER + ": without load",
           gauge("baseline_seconds", "adaptive_limit", how="max")),
          pages=("adaptive-limit",)),
    rates("Windows of adaptive limits", "What became of the limit after each.",
          "adaptive_limit", "raised|lowered|backed_off|unused|kept",
          pages=("adaptive-limit",)),
    lines("Permits of partitions", "percentunit", "In use, of the guaranteed "
          "ones. Above 100 % it borrows from others.",
          (BY_LAYER + " / {{partition}}", share(
              gauge("partition_in_use", LENDING, "gate, layer, partition"),
              "(" + gauge("partition_guaranteed", LENDING,
                          "gate, layer, partition") + " > 0)")),
          pages=("queues",)),
    lines("Calls of partitions that wait", "short", "For a permit.",
          (BY_LAYER + " / {{partition}}",
           gauge("partition_waiting", LENDING, "gate, layer, partition")),
          pages=("queues",)),
])

COOLDOWNS = Row("Cool-downs", pages=("cooldown",), panels=[
    two_states("State", "cooldown", "passing", "cooling"),
    rates("Decisions", "Calls that passed, and those that were kept away.",
          "cooldown", "passed|rejected"),
    increases("Cool-downs", "Started, and extended by the answers of calls "
              "that were in flight, in five minutes.", "cooldown",
              "started|extended"),
])

THROTTLES = Row("Throttles", pages=("throttle",), panels=[
    two_states("State", "throttle", "passing", "throttling"),
    lines("Probability of rejection", "percentunit", "Of the next call.",
          (BY_LAYER, gauge("rejection_ratio", "throttle", how="max")), top=1),
    rates("Decisions", "Rejected by the throttle itself, and what the worker "
          "did with the others.", "throttle",
          "rejected|accepted|not_accepted|passed_by_rate|forced"),
    lines("Calls in the window", "short", "All, and those that the worker "
          "accepted.",
          (BY_LAYER, gauge("requests", "throttle")),
          (BY_LAYER + ": accepted", gauge("accepts", "throttle"))),
])

SHEDDERS = Row("Shedders", pages=("shedder",), panels=[
    two_states("State", "shedder", "passing", "shedding"),
    rates("Shed calls by reason", "And those that passed because of minimum.",
          "shedder", "shed_.*|passed_by_minimum"),
    lines("Threshold", "short", "The level from which calls pass, of 4096; "
          "level 2048 is the first of priority 0.",
          (BY_LAYER, gauge("threshold", "shedder", how="max")), top=4096),
    lines("Load that it sees", "percentunit", "The last reading of the time of "
          "the CPU and of memory. 0 is unknown, or no signal.",
          (BY_LAYER + ": CPU", gauge("cpu_ratio", "shedder", how="max")),
          (BY_LAYER + ": memory", gauge("memory_ratio", "shedder", how="max")),
          top=1),
    lines("Delay", "s", "How much longer than the shortest average calls took, "
          "in the last window.",
          (BY_LAYER, gauge("delay_seconds", "shedder", how="max")),
          (BY_LAYER + ": mailbox",
           gauge("mailbox_delay_seconds", "shedder", how="max") + " > 0")),
    lines("Calls below it", "short", "And the number that is no sign of "
          "overload yet, where it is known.",
          (BY_LAYER, gauge("in_flight", "shedder")),
          (BY_LAYER + ": limit", gauge("in_flight_limit", "shedder")
           + " > 0")),
])

CACHES = Row("Caches", pages=("cache",), panels=[
    lines("Answered without the worker", "percentunit", "Of all reads: hits, "
          "old values and joined loads.",
          (BY_LAYER, share(
              decisions("cache", "hits|negative_hits|stale_hits|joined",
                        "gate, layer"),
              decisions("cache", "hits|negative_hits|stale_hits|joined|misses",
                        "gate, layer"))), top=1),
    rates("Reads", "By what became of them.", "cache",
          "hits|negative_hits|stale_hits|stale_on_error|misses|joined|"
          "bypassed"),
    lines("Answers kept", "short", "Old ones among them; and loads in "
          "progress.",
          (BY_LAYER, gauge("entries", "cache")),
          (BY_LAYER + ": loading", gauge("loading", "cache"))),
    rates("Answers dropped or not kept", "A cache that evicts much is too "
          "small.", "cache",
          "evicted|expired|invalidated|not_stored|refresh_failed"),
    lines("Writes that the worker lacks", "short", "Of caches with write-back; "
          "and flushes in progress.",
          (BY_LAYER, gauge("unwritten", "cache")),
          (BY_LAYER + ": flushes", gauge("flushing", "cache"))),
    rates("Failed writes", "Repeated, lost, or sent straight to the worker.",
          "cache", "flush_failed|lost|not_acknowledged|callbacks_failed"),
])

BATCHERS = Row("Batchers", pages=("batcher",), panels=[
    lines("Items per batch", "short", "Items that came, for each batch that "
          "was sent.",
          (BY_LAYER, share(
              decisions("batcher", "items", "gate, layer"),
              decisions("batcher", "flushed_by_.*", "gate, layer")))),
    rates("Batches by what sent them", "Full, old enough, before a deadline, "
          "or draining.", "batcher", "flushed_by_.*|emptied"),
    lines("Items that wait, batches in flight", "short", "Batches at "
          "max_outstanding make items wait.",
          (BY_LAYER + ": items", gauge("waiting", "batcher")),
          (BY_LAYER + ": batches", gauge("outstanding", "batcher"))),
    rates("Failed items", "And calls for which there was no room.", "batcher",
          "items_failed|rejected_full|abandoned|abandoned_in_flight"),
])

CANARIES = Row("Canaries", pages=("canary",), panels=[
    states("State", "Where each canary is on its way.",
           'max by (gate, layer) (caisson_layer_state_value'
           '{L, kind="canary"})', BY_LAYER,
           {0: ("waiting", "text"), 1: ("in a stage", "blue"),
            2: ("promoted", "green"), 3: ("rolled back", "red")}),
    lines("Share of the canary", "percentunit", "Of the calls.",
          (BY_LAYER, gauge("share_ratio", "canary", how="max")), top=1),
    lines("Failures", "percentunit", "In the window, of the canary and of the "
          "baseline that it is compared with.",
          (BY_LAYER + ": canary",
           gauge("canary_failure_ratio", "canary", how="max")),
          (BY_LAYER + ": baseline",
           gauge("baseline_failure_ratio", "canary", how="max"))),
    lines("Durations, P99", "s", "In the window, of the canary and of the "
          "baseline.",
          (BY_LAYER + ": canary",
           gauge("canary_tail_seconds", "canary", how="max")),
          (BY_LAYER + ": baseline",
           gauge("baseline_tail_seconds", "canary", how="max"))),
    rates("Calls", "To each of the two, and copies by whether the answers "
          "differ.", "canary", "to_baseline|to_canary|given_to_baseline|"
          "mirrors_equal|mirrors_differing"),
    lines("Stage, and calls with the canary", "short", "Stages count from 1; "
          "0 is none. Copies are not among the calls.",
          (BY_LAYER + ": stage", gauge("stage", "canary", how="max")),
          (BY_LAYER + ": answers in it", gauge("stage_answers", "canary")),
          (BY_LAYER + ": calls", gauge("with_canary", "canary"))),
    lines("Copied calls in progress", "short", "Those whose answers are "
          "compared.", (BY_LAYER, gauge("mirroring", "canary"))),
    increases("Stages, promotions and rollbacks", "In five minutes.", "canary",
              "went_on|promotions|rollbacks"),
])

KEYS = Row("Policies per key", pages=("keyed",), panels=[
    lines("Keys", "short", "That layers know at present.",
          (BY_LAYER, "sum by (gate, layer) (caisson_layer_keys{L})")),
    rates("New and dropped keys", "keys_evicted: there are more than max_keys.",
          ".*", "keys_made|keys_evicted|keys_expired"),
    rates("Calls refused for their key", "It was new and there was no room; or "
          "there was none.", ".*", "refused_keys|refused_keyless|keyless"),
    lines("Busiest keys", "cps", "Calls admitted, of programs with "
          "keys_per_layer.",
          (BY_LAYER + " / {{key}}", "topk(10, sum by (gate, layer, key) "
           "(rate(caisson_key_admitted_calls_total{L}[W])))")),
])

OTHERS = Row("Fallback, degradation and chaos",
             pages=("fallback", "degradation", "chaos"), panels=[
    rates("Fallbacks", "Calls that went to an alternative, and what became of "
          "them.", "fallback",
          "fell_back|answered_by_alternative|all_failed|declined|"
          "fallback_full|out_of_time", pages=("fallback",)),
    lines("Levels that are off", "short", "Of degradations.",
          (BY_LAYER, gauge("levels_off", "degradation", how="max")),
          limits=bad_from(1, "orange"), pages=("degradation",)),
    rates("Calls to features that are off", "Rejected with feature_off.",
          "feature", "rejected", pages=("degradation",)),
    rates("Injected faults", "This should be 0 where nobody tests.", "chaos",
          ".*_injected", pages=("chaos",)),
])
ONE = Row("One gate: $one", closed=False, pages=("operation",), panels=[
    Panel("table", "Layers, from the outside in", "short", "Their state, if "
          "they have one, and their mode.", [
              ("Position", "max by (layer, kind) (caisson_layer_position{O})"),
              ("", "max by (layer, state) (caisson_layer_state{O}) == 1"),
              ("", "max by (layer, mode) (caisson_layer_mode{O}) == 1")],
          hidden=("Time", "Time 1", "Time 2", "Time 3", "Value #B",
                  "Value #C"),
          join="layer", sorted_by="Position", width=8),
    lines("Decisions of its layers", "cps", "All that the pages of their "
          "policies list.",
          ("{{layer}}: {{decision}}", decisions(
              ".*", ".*", "layer, decision", "O") + " > 0"), width=16),
    Panel("heatmap", "Durations of calls", "s", "How many took how long.", [
        ("{{le}}", "sum by (le) (increase("
         "caisson_call_duration_seconds_bucket{O}[W]))")]),
    lines("Durations of attempts, and waits before the first", "s",
          "P50 and P99.",
          *((f"{what}, P{q}",
             quantile(q / 100, f"{metric}_duration_seconds", "", "{O}"))
            for what, metric, q in (
                ("attempts", "attempt", 50), ("attempts", "attempt", 99),
                ("waits", "wait", 99)))),
    lines("Calls it holds", "short", "In progress; held by a layer; waiting "
          "for the worker; messages with the worker; leases.",
          *((name, f"sum(caisson_{metric}{{O}})") for name, metric in (
              ("in progress", "calls_in_progress"), ("held", "calls_held"),
              ("waiting for the worker", "calls_waiting_for_worker"),
              ("in flight", "messages_in_flight"), ("leases", "leases")))),
    lines("What arrives", "cps", "Calls, and those of them whose sender waits "
          "for no answer; requests for permits, and renewals of these.",
          *((name, f"sum(rate(caisson_{metric}_total{{O}}[W]))")
            for name, metric in (
                ("calls", "calls"), ("plain sends", "plain_sends"),
                ("permits requested", "acquires"),
                ("permits renewed", "lease_renewals")))),
    lines("Outcomes", "cps", "Calls that ended.",
          ("{{outcome}}", "sum by (outcome) "
           "(rate(caisson_outcomes_total{O}[W])) > 0"), stacked=True),
    lines("Longest wait so far", "s", "In each layer with a queue, since the "
          "gate began or was reset.",
          ("{{layer}}", "max by (layer) (caisson_layer_longest_wait_seconds"
           "{O})")),
    lines("Attempts per call", "short", "Mean, and P99.",
          ("mean", "sum(rate(caisson_call_attempts_sum{O}[W])) / "
           "sum(rate(caisson_call_attempts_count{O}[W]))"),
          ("P99", quantile(0.99, "call_attempts", "", "{O}"))),
    lines("Instances", "cps", "Calls that arrive at each program.",
          ("{{instance}} {{replica}}", "sum by (instance, replica) "
           "(rate(caisson_calls_total{O}[W]))")),
])

ROWS = [BREAKERS, LIMITERS, PERMITS, COOLDOWNS, THROTTLES, SHEDDERS, RETRIERS,
        DEADLINES, CACHES, BATCHERS, CANARIES, KEYS, OTHERS, ONE]
