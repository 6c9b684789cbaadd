"""Bytes, latency, skew and memory."""

from .panels import heat, lines, number, row
from .variables import JOB, NAMESPACE, SERVER

NAME = "parameter-servers"
DESCRIPTION = "Bytes, latency, skew and memory of the parameter servers."
ANNOTATED = True
VARIABLES = [NAMESPACE, JOB, SERVER]

OF = '{instance=~"$server"}'


def rate(metric, by="instance"):
    return (f"sum by ({by}) (rate({metric}{OF}[$__rate_interval]))",
            f"{{{{{by}}}}}")


def each(metric):
    return f"{metric}{OF}", "{{instance}}"


def buckets(metric):
    return f"sum by (le) (increase({metric}_bucket{OF}[$__rate_interval]))"


def quantile(share, metric):
    return ("histogram_quantile(%s, sum by (instance, le) (rate(%s_bucket%s"
            "[$__rate_interval])))" % (share, metric, OF),
            "{{instance}}, %g %%" % (100 * share))


def only_servers(metric):
    """Of the processes that are parameter servers."""
    return (f"{metric}{OF} and on (instance) paceline_server_jobs",
            "{{instance}}")


PANELS = [
    number("Servers", "That are scraped.", "none",
           f"count(paceline_server_jobs{OF})"),
    number("Jobs", "Shares of jobs that are hosted.", "none",
           f"sum(paceline_server_jobs{OF})"),
    number("Parameters", "Weights and optimizer state.", "bytes",
           f"sum(paceline_server_parameter_bytes{OF})"),
    number("Pushed", "Payload of gradients.", "Bps",
           f"sum(rate(paceline_server_push_bytes_total{OF}[$__rate_interval]))"),
    number("Pulled", "Payload of weights.", "Bps",
           f"sum(rate(paceline_server_pull_bytes_total{OF}[$__rate_interval]))"),
    number("Busiest over average", "Of the servers' bytes; 1: they are equally "
           "busy.", "none",
           "max(sum by (instance) "
           f"(rate(paceline_server_push_bytes_total{OF}[5m])) + "
           "sum by (instance) "
           f"(rate(paceline_server_pull_bytes_total{OF}[5m]))) / "
           "(avg(sum by (instance) "
           f"(rate(paceline_server_push_bytes_total{OF}[5m])) + "
           "sum by (instance) "
           f"(rate(paceline_server_pull_bytes_total{OF}[5m]))) > 0)",
           thresholds=[(1.5, "yellow"), (2, "red")]),
    lines("Pushed bytes", "Payload of gradients taken.", "Bps",
          rate("paceline_server_push_bytes_total"), low=0),
    lines("Pulled bytes", "Payload of weights sent.", "Bps",
          rate("paceline_server_pull_bytes_total"), low=0),
    heat("Time of a pull", "From its arrival to its answer; waiting for a "
         "closing counts, and for other workers where it was asked for ahead.",
         "s", buckets("paceline_server_pull_wait_seconds")),
    heat("Time of a closing", "To drain the rounds into one update.", "s",
         buckets("paceline_server_closing_seconds")),
    lines("Time of a pull, 50 and 99 %", "By server.", "s",
          quantile(0.5, "paceline_server_pull_wait_seconds"),
          quantile(0.99, "paceline_server_pull_wait_seconds"), low=0),
    lines("Time of a closing, 99 %", "By server.", "s",
          quantile(0.99, "paceline_server_closing_seconds"), low=0),
    row("Load"),
    lines("Pulls and pushed blocks", "By server.", "ops",
          (rate("paceline_server_pulls_total")[0], "{{instance}}: pulls"),
          (rate("paceline_server_pushed_blocks_total")[0],
           "{{instance}}: blocks"), low=0),
    lines("Closings", "Rounds drained into an update.", "ops",
          rate("paceline_server_closings_total"), low=0),
    lines("Parked pulls", "That wait for a closing now.", "none",
          each("paceline_server_parked_pulls"), low=0),
    lines("Open rounds", "That hold gradients now.", "none",
          each("paceline_server_open_rounds"), low=0),
    lines("Failed pulls and refused blocks", "Pulls that ended without the "
          "weights; blocks that were not finite.", "ops",
          (rate("paceline_server_pulls_failed_total")[0],
           "{{instance}}: pulls"),
          (rate("paceline_server_refused_blocks_total")[0],
           "{{instance}}: blocks"), low=0),
    lines("CPU", "Cores in use.", "none",
          ("rate(process_cpu_seconds_total%s[$__rate_interval]) and on "
           "(instance) paceline_server_jobs" % OF, "{{instance}}"), low=0),
    row("Memory and disk"),
    lines("Memory", "In use by the process, and what its blocks need.", "bytes",
          (only_servers("process_resident_memory_bytes")[0],
           "{{instance}}: process"),
          (each("paceline_server_parameter_bytes")[0],
           "{{instance}}: parameters"), low=0),
    lines("Snapshots", "Held until they are evaluated.", "none",
          each("paceline_server_snapshots"), low=0),
    lines("To backups", "Bytes of what servers have taken.", "Bps",
          rate("paceline_server_replica_bytes_total"), low=0),
    lines("Backups behind", "Changes that they are not known to have.", "none",
          each("paceline_server_replica_lag_entries"), low=0),
    lines("Checkpoints", "Bytes written to disk.", "Bps",
          rate("paceline_server_checkpoint_bytes_total"), low=0),
    lines("Time of a checkpoint", "Mean time of one file.", "s",
          (f"rate(paceline_server_checkpoint_seconds_sum{OF}[5m]) / "
           f"(rate(paceline_server_checkpoint_seconds_count{OF}[5m]) > 0)",
           "{{instance}}"), low=0),
    lines("Failed checkpoints", "Files that were not written.", "none",
          ("sum by (instance) (increase("
           f"paceline_server_checkpoint_failures_total{OF}[5m]))",
           "{{instance}}"), low=0),
    lines("Checkpoint age", "Time since the last file was complete.", "s",
          ("time() - (paceline_server_checkpoint_last_success_timestamp_seconds"
           f"{OF} > 0)", "{{instance}}"), low=0),
]
