"""Who is slow, why, and what the coordinator does about it."""

from .panels import heat, lines, number, row, states
from .variables import GPU_MODEL, JOB, NAMESPACE, WORKER

NAME = "heterogeneity"
DESCRIPTION = ("Who is slow, who waits, how stale gradients are, and what the "
               "coordinator does about it.")
ANNOTATED = True
VARIABLES = [NAMESPACE, JOB, GPU_MODEL, WORKER]

OF = '{job_id=~"$job"}'
WHO = '{job_id=~"$job",worker=~"$worker"}'


def each(metric):
    """Of the chosen workers on the chosen GPU models. The maxima are of one
    value each, but while a coordinator takes another one's place."""
    return (f"max by (job_id, worker) ({metric}{WHO}) "
            "* on (job_id, worker) group_left (gpu_model) "
            "max by (job_id, worker, gpu_model) (paceline_coordinator_worker_info"
            '{gpu_model=~"$gpu_model"})', "{{worker}} ({{gpu_model}})")


def buckets(metric):
    return (f"sum by (le) (increase({metric}_bucket{OF}[$__rate_interval]))")


def or_zero(metric):
    """One series a job, whether or not it has the metric now."""
    return (f"max by (job_id) ({metric}{OF}) or "
            f"0 * max by (job_id) (paceline_coordinator_workers{OF})")


PANELS = [
    number("Stragglers", "Workers that are flagged now.", "none",
           f"sum(paceline_coordinator_worker_straggler{WHO})",
           thresholds=[(1, "orange")]),
    number("Fastest over slowest", "Of the workers' measured rates.", "none",
           "max(max by (job_id) (paceline_coordinator_worker_samples_per_second"
           f"{OF}) / (min by (job_id) "
           f"(paceline_coordinator_worker_samples_per_second{OF}) > 0))"),
    number("Staleness, 99 %", "Updates that 99 % of all pushes are behind at "
           "most.", "none",
           "histogram_quantile(0.99, sum by (le) "
           f"(rate(paceline_coordinator_staleness_updates_bucket{OF}[5m])))"),
    number("Gap, 99 %", "Iterations that 99 % of all pushes are ahead of the "
           "slowest worker at most.", "none",
           "histogram_quantile(0.99, sum by (le) "
           f"(rate(paceline_coordinator_gap_iterations_bucket{OF}[5m])))"),
    number("Threshold", "By how many iterations a worker may be ahead now; 0 "
           "without such a bound.", "none",
           f"max(paceline_coordinator_threshold_iterations{OF}) or vector(0)"),
    number("Groups", "Groups of workers; 0 without groups.", "none",
           f"max(paceline_coordinator_groups{OF}) or vector(0)"),
    lines("Rate of each worker", "Samples a second while it loads, computes, "
          "pushes and pulls; waiting does not count.", "none",
          each("paceline_coordinator_worker_samples_per_second"), low=0),
    lines("Straggler score", "Time for a sample over the median worker's. "
          "From 1.5 on it is flagged.", "none",
          each("paceline_coordinator_worker_straggler_score_ratio"), low=0,
          thresholds=[(1.5, "orange")]),
    states("Flagged as stragglers", "An alert fires after 5 minutes.",
           each("paceline_coordinator_worker_straggler")[0], "{{worker}}",
           [("0", "in time", "green"), ("1", "straggler", "orange")]),
    lines("Rate by GPU model", "The mean of each model's workers.", "none",
          ("avg by (gpu_model) "
           f"({each('paceline_coordinator_worker_samples_per_second')[0]})",
           "{{gpu_model}}"), low=0),
    lines("Batch of each worker", "Samples of an iteration as they are dealt "
          "now.", "none", each("paceline_coordinator_worker_batch_samples"),
          low=0),
    row("Gaps, staleness and waiting"),
    heat("Staleness", "Updates between the weights that a gradient was computed "
         "on and those that it is applied to.", "none",
         buckets("paceline_coordinator_staleness_updates")),
    heat("Gap", "Iterations ahead of the slowest worker, at each push.", "none",
         buckets("paceline_coordinator_gap_iterations")),
    heat("Time in the gate", "From a push to the next grant.", "s",
         buckets("paceline_coordinator_gate_wait_seconds")),
    heat("Rounds", "Time from one closing to the next.", "s",
         buckets("paceline_coordinator_round_seconds")),
    lines("Gap of each worker", "Iterations ahead of the slowest one.", "none",
          each("paceline_coordinator_worker_gap_iterations"), low=0),
    lines("Lag of each worker", "Updates since the weights that it computes "
          "on.", "none", each("paceline_coordinator_worker_lag_updates"),
          low=0),
    row("What the coordinator does about it"),
    lines("Decisions", "About workers, by reason; docs/metrics.md says what "
          "each means.", "ops",
          ("sum by (reason) (rate(paceline_coordinator_decisions_total"
           f"{OF}[$__rate_interval])) > 0", "{{reason}}"), low=0),
    lines("Threshold and groups", "0 where the paradigm has no such thing.",
          "none",
          (or_zero("paceline_coordinator_threshold_iterations"),
           "{{job_id}}: threshold"),
          (or_zero("paceline_coordinator_groups"), "{{job_id}}: groups"),
          low=0),
    lines("Where a worker's time goes", "Mean of an iteration, by phase; of the "
          "chosen workers where a scrape's instance is the worker's name.", "s",
          ("sum by (phase) (rate(paceline_worker_phase_seconds_sum"
           '{instance=~"($worker)(:.*)?"}[$__rate_interval])) / sum by (phase) '
           '(rate(paceline_worker_phase_seconds_count'
           '{instance=~"($worker)(:.*)?"}[$__rate_interval]))',
           "{{phase}}"), stack=True, low=0),
    lines("Pushes", "Counted pushes of each job.", "ops",
          (f"sum by (job_id) (rate(paceline_coordinator_pushes_total{OF}"
           "[$__rate_interval]))", "{{job_id}}"), low=0),
]
