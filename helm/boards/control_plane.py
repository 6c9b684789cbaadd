"""Leases, decisions, calls and the coordinator itself."""

from .panels import heat, lines, number, row, states, table
from .variables import JOB, NAMESPACE

NAME = "control-plane"
DESCRIPTION = "Members and leases, decisions, calls, and the processes."
ANNOTATED = True
VARIABLES = [NAMESPACE, JOB]

OF = '{job_id=~"$job"}'
# Not those that are as long as a member lives, or somebody watches.
CALLS = '{method!~".*(/Worker|/Server|/WatchJob)"}'
# Every method has its series, but most are never asked for.
EVER_CALLED = ("and on (method) sum by (method) "
               "(paceline_grpc_server_started_total) > 0")

PANELS = [
    number("Coordinator", "Since when it runs.", "dateTimeFromNow",
           "max(1000 * (process_start_time_seconds and on (instance) "
           "paceline_coordinator_servers))"),
    number("Members", "Workers and evaluators.", "none",
           "sum(paceline_coordinator_members)"),
    number("Losses in an hour", "Members that are gone, those that left "
           "politely aside.", "none",
           "round(sum(increase(paceline_coordinator_workers_lost_total"
           '{job_id=~"$job",reason!="departed"}[1h]))) or vector(0)',
           thresholds=[(1, "yellow"), (5, "red")]),
    number("Watchers", "Open watches of jobs.", "none",
           "sum(paceline_coordinator_watchers)"),
    number("Refused by quota in an hour", "Jobs and changes.", "none",
           "round(sum(increase(paceline_coordinator_quota_refusals_total"
           "[1h])))",
           thresholds=[(1, "yellow")]),
    number("History lost", "Rows that could not be stored.", "none",
           "sum(paceline_coordinator_history_rows_lost_total)",
           thresholds=[(1, "red")]),
    lines("Members by state", "Of workers and evaluators.", "none",
          ("sum by (state) (paceline_coordinator_members)", "{{state}}"),
          stack=True, low=0),
    lines("Jobs by state", "Those that have ended too.", "none",
          ("sum by (state) (paceline_coordinator_jobs)", "{{state}}"),
          stack=True, low=0),
    lines("Losses", "Leases that ended, streams that broke, stuck workers.",
          "none",
          ("sum by (reason) (increase(paceline_coordinator_workers_lost_total"
           f"{OF}[$__rate_interval]))", "{{reason}}"), low=0),
    lines("Links that broke", "And were taken up again.", "none",
          ("sum(increase(paceline_coordinator_sessions_resumed_total"
           "[$__rate_interval]))", "links"), low=0),
    lines("Parts without a backup", "Of models that are to have one.", "none",
          ("sum by (job_id) (paceline_coordinator_shards_without_backup"
           f"{OF})", "{{job_id}}"), low=0),
    lines("Time without a backup", "In each second, summed over the parts.",
          "none",
          ("sum by (job_id) (rate(paceline_coordinator_degraded_seconds_total"
           f"{OF}[$__rate_interval]))", "{{job_id}}"), low=0),
    lines("Failovers", "Parts of models that a backup has taken over, and that "
          "were rebuilt without one.", "none",
          ("sum by (job_id) (increase(paceline_coordinator_failovers_total"
           f"{OF}[$__rate_interval]))", "{{job_id}}"),
          ("sum by (job_id) (increase(paceline_coordinator_shards_rebuilt_total"
           f"{OF}[$__rate_interval]))", "{{job_id}} rebuilt"), low=0),
    lines("Decisions", "Of all kinds.", "ops",
          ("sum by (job_id) (rate(paceline_coordinator_decisions_total"
           f"{OF}[$__rate_interval]))", "{{job_id}}"), low=0),
    lines("Workers wanted", "What jobs would use of each pool.", "none",
          ("sum by (pool) (paceline_coordinator_pool_workers_wanted)",
           "{{pool}}"), low=0),
    lines("Grants and pushes", "Of the chosen jobs.", "ops",
          (f"sum(rate(paceline_coordinator_grants_total{OF}"
           "[$__rate_interval]))", "grants"),
          (f"sum(rate(paceline_coordinator_pushes_total{OF}"
           "[$__rate_interval]))", "pushes"), low=0),
    row("Calls"),
    lines("Calls by method", "That began.", "reqps",
          ("sum by (method) (rate(paceline_grpc_server_started_total"
           f"[$__rate_interval])) {EVER_CALLED}", "{{method}}"), low=0),
    lines("Calls by code", "That ended.", "reqps",
          ("sum by (code) (rate(paceline_grpc_server_handled_total"
           "[$__rate_interval]))", "{{code}}"), low=0),
    heat("Time of a call", "Streams aside.", "s",
         "sum by (le) (increase(paceline_grpc_server_handling_seconds_bucket"
         f"{CALLS}[$__rate_interval]))"),
    lines("Open calls", "Streams of members and watchers among them.", "none",
          ("sum by (method) (paceline_grpc_server_started_total) - on (method) "
           "sum by (method) (paceline_grpc_server_handled_total) "
           f"{EVER_CALLED}", "{{method}}"), low=0),
    row("Who leads"),
    states("Leads", "Which of the coordinators.", "paceline_coordinator_leads",
           "{{instance}}",
           [("0", "stands by", "blue"), ("1", "leads", "green")]),
    lines("Standby behind", "Changes that it has not written down yet.",
          "none",
          ("paceline_coordinator_standby_entries_behind and "
           "paceline_coordinator_leads == 1", "{{instance}}"), low=0),
    lines("Standbys", "That have all that was promised, and that are wanted.",
          "none",
          ("sum(paceline_coordinator_standbys and "
           "paceline_coordinator_leads == 1)", "there"),
          ("sum(paceline_coordinator_standbys_wanted and "
           "paceline_coordinator_leads == 1)", "wanted"), low=0),
    lines("Term", "Rises with each coordinator that leads.", "none",
          ("max(paceline_coordinator_term)", "term"), low=0),
    row("Processes"),
    lines("CPU", "Cores in use.", "none",
          ("rate(process_cpu_seconds_total[$__rate_interval]) and on "
           "(instance) paceline_build_info", "{{instance}}"), low=0),
    lines("Memory", "In use.", "bytes",
          ("process_resident_memory_bytes and on (instance) "
           "paceline_build_info", "{{instance}}"), low=0),
    lines("Open files", "And sockets, of those there may be.", "percentunit",
          ("process_open_fds / process_max_fds and on (instance) "
           "paceline_build_info", "{{instance}}"), low=0, high=1),
    lines("Certificates", "Time until they end. An alert fires at 7 days.", "s",
          ("paceline_certificate_expiry_timestamp_seconds - time()",
           "{{instance}}"), low=0),
    states("Scrapes", "Whether Prometheus reaches each process.",
           "up and on (instance) max_over_time(paceline_build_info[1h])",
           "{{instance}}",
           [("0", "away", "red"), ("1", "there", "green")]),
    table("Versions", "What each process is built from.", "none",
          "sum by (instance, version, compiler) (paceline_build_info)",
          ["Value"], {"namespace": "Namespace", "instance": "Process",
                      "version": "Version", "compiler": "Compiler"}),
]
