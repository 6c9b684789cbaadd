{{/* Names and labels. */}}

{{/* The first part of all names; short enough for a pool's name and what Kubernetes adds. */}}
{{- define "paceline.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 24 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | replace "." "-" | trunc 24 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | replace "." "-" | trunc 24 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "paceline.coordinatorHost" -}}
{{ include "paceline.fullname" . }}-coordinator.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "paceline.coordinatorAddress" -}}
{{ include "paceline.coordinatorHost" . }}:{{ .Values.coordinator.port }}
{{- end -}}

{{/* Of their objects, one or two; a pod of each is NAME-0. */}}
{{- define "paceline.coordinatorNames" -}}
{{- $name := printf "%s-coordinator" (include "paceline.fullname" .) -}}
- {{ $name }}
{{- if gt (int .Values.coordinator.replicas) 1 }}
- {{ $name }}-second
{{- end }}
{{- end -}}

{{/* Of the pod of the one that leads. */}}
{{- define "paceline.leaderLabel" -}}
paceline.dev/leads
{{- end -}}

{{/* Never changes for an object: (dict "root" $ "component" "server"). */}}
{{- define "paceline.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component | quote }}
{{- with .pool }}
paceline.dev/pool: {{ . | quote }}
{{- end }}
{{- with .coordinator }}
paceline.dev/coordinator: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Of pods: nothing that changes with the chart alone, or all would start anew. */}}
{{- define "paceline.podLabels" -}}
{{ include "paceline.selectorLabels" . }}
app.kubernetes.io/part-of: paceline
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The same arguments. */}}
{{- define "paceline.labels" -}}
{{ include "paceline.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
app.kubernetes.io/part-of: paceline
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Metadata but the name: (dict "root" $ "component" "server" "annotations" (dict) "more" <labels>). */}}
{{- define "paceline.metadata" -}}
labels:
  {{- mergeOverwrite (include "paceline.labels" . | fromYaml) (default (dict) .more) | toYaml | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "paceline.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{ .Values.serviceAccount.name }}
{{- else if .Values.serviceAccount.create -}}
{{ include "paceline.fullname" . }}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{/* Of coordinators that agree on who leads. */}}
{{- define "paceline.coordinatorAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ include "paceline.fullname" . }}-coordinator
{{- else -}}
{{ include "paceline.serviceAccountName" . }}
{{- end -}}
{{- end -}}

{{/* (dict "root" $ "image" .Values.images.server) */}}
{{- define "paceline.image" -}}
{{- $registry := .root.Values.global.imageRegistry -}}
{{- $repository := .image.repository -}}
{{- if $registry -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" $registry) $repository -}}
{{- end -}}
{{- if .image.digest -}}
{{ $repository }}@{{ .image.digest }}
{{- else -}}
{{ $repository }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end -}}
{{- end -}}

{{/* A pool with its defaults: (dict "root" $ "pool" .Values.pools.a100). A volume is taken
     as a whole: two merged would have two sources. */}}
{{- define "paceline.pool" -}}
{{- $defaults := .root.Values.poolDefaults -}}
{{- $pool := default (dict) .pool -}}
{{- $volume := coalesce (default (dict) $pool.data).volume $defaults.data.volume .root.Values.data.volume (dict) -}}
{{- $values := mergeOverwrite (deepCopy $defaults) $pool -}}
{{- mergeOverwrite (omit $values "data") (dict "data" (dict "volume" $volume)) | toYaml -}}
{{- end -}}
