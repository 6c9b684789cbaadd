"""The variables that boards share."""

from .panels import variable

# Kubernetes', of which each release should have its own; elsewhere there may be
# none. One or all, for lines do not say it.
NAMESPACE = variable("namespace", "Namespace",
                     "label_values(paceline_coordinator_servers, namespace)",
                     scope=str, multi=False, allValue=".*")
JOB = variable("job", "Job", "label_values(paceline_coordinator_workers, job_id)")
PARADIGM = variable(
    "paradigm", "Paradigm",
    "label_values(paceline_coordinator_paradigm_info, paradigm)")
GPU_MODEL = variable(
    "gpu_model", "GPU model",
    'label_values(paceline_coordinator_worker_info{job_id=~"$job"}, gpu_model)')
WORKER = variable(
    "worker", "Worker",
    'label_values(paceline_coordinator_worker_info{job_id=~"$job",'
    'gpu_model=~"$gpu_model"}, worker)')
SERVER = variable("server", "Server",
                  "label_values(paceline_server_jobs, instance)")
