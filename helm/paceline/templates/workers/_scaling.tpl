{{/* Who sets how many workers a pool has, if it is not the chart. */}}

{{/* Not empty where somebody else does. Takes a pool's `autoscaling`. */}}
{{- define "paceline.scaled" -}}
{{- if or .enabled .keda.enabled }}true{{ end -}}
{{- end -}}

{{/* The pool that a job must name to get a worker: one that has none while nobody asks for
     it. Empty where workers are there anyway, or are programs'. */}}
{{- define "paceline.poolToName" -}}
{{- $there := false -}}
{{- $empty := "" -}}
{{- range $name, $pool := .Values.pools -}}
{{- if not (kindIs "invalid" $pool) -}}
{{- $values := include "paceline.pool" (dict "root" $ "pool" $pool) | fromYaml -}}
{{- $scaling := $values.autoscaling -}}
{{- $replicas := ternary $scaling.keda.minReplicas (ternary $scaling.minReplicas $values.replicas $scaling.enabled) $scaling.keda.enabled -}}
{{- if not $values.program.name -}}
{{- if gt (int $replicas) 0 -}}
{{- $there = true -}}
{{- else if and $scaling.keda.enabled (not $empty) -}}
{{- $empty = $name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $there -}}{{ $empty }}{{- end -}}
{{- end -}}

{{/* A pool that no job names and no worker is of has no series: it is wanted by nobody
     if a coordinator is there. Without one the answer is empty, which KEDA takes as an
     error and leaves workers alone. (dict "root" $ "pool" "a100" "values" <a pool's>) */}}
{{- define "paceline.demandQuery" -}}
{{- $scaling := .values.autoscaling -}}
{{- if $scaling.keda.query -}}
{{ $scaling.keda.query }}
{{- else -}}
max({{ $scaling.metric }}{namespace="{{ .root.Release.Namespace }}",pool="{{ .pool }}"}) or 0 * max(paceline_coordinator_leads{namespace="{{ .root.Release.Namespace }}"})
{{- end -}}
{{- end -}}

{{/* (dict "root" $ "path" "pools.a100" "values" <a pool's>) */}}
{{- define "paceline.checkScaling" -}}
{{- $scaling := .values.autoscaling -}}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) -}}
{{- fail (printf "%s.autoscaling.minReplicas is more than maxReplicas" .path) -}}
{{- end -}}
{{- if $scaling.keda.enabled -}}
{{- if $scaling.enabled -}}
{{- fail (printf "%s.autoscaling.enabled and %s.autoscaling.keda.enabled are both true: only one can say how many workers there are" .path .path) -}}
{{- end -}}
{{- if not $scaling.keda.serverAddress -}}
{{- fail (printf "%s.autoscaling.keda.serverAddress is missing: name the Prometheus that scrapes the coordinator, as http://prometheus.monitoring:9090" .path) -}}
{{- end -}}
{{- if gt (int $scaling.keda.minReplicas) (int $scaling.keda.maxReplicas) -}}
{{- fail (printf "%s.autoscaling.keda.minReplicas is more than maxReplicas" .path) -}}
{{- end -}}
{{- if not (.root.Capabilities.APIVersions.Has "keda.sh/v1alpha1") -}}
{{- fail (printf "%s.autoscaling.keda.enabled needs KEDA, whose types this cluster does not have" .path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
