"""Are we making progress?"""

from .panels import lines, number, row, states, table
from .variables import JOB, NAMESPACE, PARADIGM

NAME = "overview"
DESCRIPTION = "Is there progress, on what, and how fast?"
ANNOTATED = True
VARIABLES = [NAMESPACE, JOB, PARADIGM]

OF = '{job_id=~"$job"}'
LAST = "paceline_coordinator_last_push_timestamp_seconds"
START = "paceline_coordinator_training_start_timestamp_seconds"
# Those jobs that follow one of the chosen paradigms now.
CHOSEN = ('and on (job_id) max by (job_id) '
          '(paceline_coordinator_paradigm_info{paradigm=~"$paradigm"})')

PANELS = [
    number("Running jobs", "Jobs that train now.", "none",
           'sum(paceline_coordinator_jobs{state="RUNNING"})'),
    number("Waiting jobs", "Jobs that wait for workers or servers.", "none",
           'sum(paceline_coordinator_jobs{state="PENDING"})',
           thresholds=[(1, "yellow")]),
    number("Workers", "Workers and evaluators that are connected.", "none",
           "sum(paceline_coordinator_members)"),
    number("Parameter servers", "Servers that are connected.", "none",
           "sum(paceline_coordinator_servers)"),
    number("Samples per second", "Of all chosen jobs.", "none",
           f"sum(rate(paceline_coordinator_samples_counted_total{OF}"
           "[$__rate_interval]))"),
    number("Longest standstill",
           "Time since the last counted push of the job that has waited the "
           "longest. An alert fires at 300 s.", "s",
           f"max(time() - ((max by (job_id) ({LAST}{OF}) > "
           f"max by (job_id) ({START}{OF})) or max by (job_id) ({START}{OF})) "
           f"and max by (job_id) ({START}{OF}) > 0) or vector(0)",
           thresholds=[(60, "yellow"), (300, "red")]),
    lines("Speed", "Samples of counted pushes.", "none",
          (f"sum by (job_id) (rate(paceline_coordinator_samples_counted_total"
           f"{OF}[$__rate_interval])) {CHOSEN}", "{{job_id}}"), low=0),
    lines("Progress", "Samples counted of those wanted; jobs without such an "
          "end are not shown.", "percentunit",
          (f"max by (job_id) (paceline_coordinator_samples{OF}) / "
           f"max by (job_id) (paceline_coordinator_samples_wanted{OF} > 0)",
           "{{job_id}}"),
          low=0, high=1),
    lines("Test accuracy", "Of the last evaluation; nothing before the first.",
          "percentunit",
          (f"paceline_coordinator_accuracy_ratio{OF}", "{{job_id}}"), low=0,
          high=1),
    lines("Metrics of evaluations", "What else programs measure, by the names "
          "that they give it; of the last evaluation.", "none",
          (f"paceline_coordinator_evaluation_metric{OF}",
           "{{job_id}} {{metric}}")),
    lines("Training loss", "Smoothed over about 50 pushes, in nats.", "none",
          (f"paceline_coordinator_loss{OF}", "{{job_id}}")),
    lines("Goodput", "Samples learned from over samples dealt: the rest was "
          "lost with workers, dropped, or discarded.", "percentunit",
          (f"(sum by (job_id) (rate(paceline_coordinator_samples_counted_total"
           f"{OF}[5m])) - sum by (job_id) "
           f"(rate(paceline_coordinator_samples_discarded_total{OF}[5m]))) / "
           f"(sum by (job_id) "
           f"(rate(paceline_coordinator_samples_granted_total{OF}[5m])) > 0)",
           "{{job_id}}"), low=0),
    lines("Time in the gate", "Share of the workers' time that they wait for "
          "others. An alert fires at 30 % where the paradigm has a threshold.",
          "percentunit",
          (f"sum by (job_id) (rate(paceline_coordinator_gate_wait_seconds_sum"
           f"{OF}[$__rate_interval])) / on (job_id) "
           f"(max by (job_id) (paceline_coordinator_workers{OF}) > 0)",
           "{{job_id}}"), low=0, thresholds=[(0.3, "red")]),
    row("Jobs"),
    states("Paradigm", "What each job follows.",
           f'paceline_coordinator_paradigm_info{{job_id=~"$job",'
           'paradigm=~"$paradigm"}', "{{job_id}}: {{paradigm}}",
           [("1", "in force", "blue")]),
    lines("Workers", "Workers that take part.", "none",
          (f"paceline_coordinator_workers{OF}", "{{job_id}}"), low=0),
    lines("Checkpoint age", "Time since the last checkpoint that is ready.",
          "s",
          (f"time() - (paceline_coordinator_last_checkpoint_timestamp_seconds"
           f"{OF} > 0)", "{{job_id}}"), low=0),
    table("Jobs now", "Each chosen job and its paradigm.", "none",
          f"sum by (job_id, paradigm) (paceline_coordinator_paradigm_info{OF})",
          ["Value"], {"namespace": "Namespace", "job_id": "Job",
                      "paradigm": "Paradigm"}),
]
