{{/* The pod of a worker or evaluator: (dict "root" $ "component" "worker" "pool" "a100" "values" <a pool's>).
     With a program it has two containers: an agent, which is a worker that computes nothing,
     and the program. They meet at a socket, and are of one user: the agent refuses others. */}}
{{- define "paceline.workerPod" -}}
{{- $root := .root -}}
{{- $values := .values -}}
metadata:
  {{- include "paceline.podMetadata" . | nindent 2 }}
spec:
  {{- include "paceline.podSettings" . | nindent 2 }}
  {{- with $values.initContainers }}
  initContainers:
    {{- range . }}
    - {{- mergeOverwrite (dict "securityContext" (include "paceline.containerSecurity" $root | fromYaml)) . | toYaml | nindent 6 }}
    {{- end }}
  {{- end }}
  containers:
    - {{- include "paceline.workerContainer" . | nindent 6 }}
    {{- if $values.program.name }}
    - {{- include "paceline.programContainer" . | nindent 6 }}
    {{- end }}
  volumes:
    {{- if $values.program.name }}
    - name: program
      emptyDir: {medium: Memory, sizeLimit: 1Mi}
    - {name: tmp, emptyDir: {}}
    {{- end }}
    - name: shm
      emptyDir: {medium: Memory, sizeLimit: {{ ternary $values.program.shmSize $values.shmSize (ne $values.program.name "") | quote }}}
    {{- with $values.data.volume }}
    - name: data
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- include "paceline.tlsVolume" (dict "root" $root "name" "worker") | nindent 4 }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The worker, or a program's agent: the same arguments. */}}
{{- define "paceline.workerContainer" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $program := $values.program -}}
{{- $gpus := ternary 0 (int $values.gpu.count) (ne $program.name "") -}}
{{- $cuda := or (eq $values.image "cuda") (and (eq $values.image "auto") (gt $gpus 0)) -}}
{{- $devices := list (ternary "auto" "cpu" $cuda) -}}
{{- if gt $gpus 0 }}{{ $devices = list "cuda" }}{{ end -}}
{{- if and (gt $gpus 1) (ne .component "evaluator") -}}
{{- $devices = list -}}
{{- range until $gpus }}{{ $devices = append $devices (printf "cuda:%d" .) }}{{ end -}}
{{- end -}}
name: {{ ternary "agent" "worker" (ne $program.name "") }}
image: {{ include "paceline.image" (dict "root" $root "image" (ternary $root.Values.images.worker $root.Values.images.workerCpu $cuda)) | quote }}
imagePullPolicy: {{ $root.Values.images.pullPolicy }}
command: [paceline-worker]
args:
  - --coordinator={{ include "paceline.coordinatorAddress" $root }}
  - --name=$(POD_NAME)
  - --pool={{ .pool }}
  {{- if eq .component "evaluator" }}
  - --evaluator
  {{- end }}
  - --device={{ join "," $devices }}
  {{- if $cuda }}
  - --gpu-memory-fraction={{ $values.gpu.memoryFraction }}
  {{- end }}
  {{- if $program.name }}
  - {{ printf "--program=%s" $program.name | quote }}
  - --program-socket=/run/paceline/program.sock
  {{- else }}
  - --threads={{ int $values.threads }}
  {{- if and (gt (int $values.inFlight) 1) (ne .component "evaluator") }}
  - --in-flight={{ int $values.inFlight }}
  {{- end }}
  {{- end }}
  - --metrics={{ $root.Values.listenHost }}:{{ $root.Values.metrics.port }}
  - --grace={{ $values.grace }}
  {{- if and $values.data.volume (not $program.name) }}
  - --data-root=/data
  {{- end }}
  {{- range $key, $value := $values.labels }}
  - {{ printf "--label=%s=%s" $key (toString $value) | quote }}
  {{- end }}
  {{- include "paceline.tlsFlags" $root | nindent 2 }}
  {{- range $values.extraArgs }}
  - {{ . | quote }}
  {{- end }}
ports:
  - {name: metrics, containerPort: {{ $root.Values.metrics.port }}}
env:
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  {{- if eq $gpus 0 }}
  # The image asks for all GPUs, and these belong to others.
  - {name: NVIDIA_VISIBLE_DEVICES, value: void}
  {{- end }}
  {{- with $values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "paceline.probes" $root | nindent 0 }}
securityContext:
  {{- include "paceline.containerSecurity" $root | nindent 2 }}
resources:
  {{- if $program.name }}
  {{- include "paceline.agentResources" $program | nindent 2 }}
  {{- else }}
  {{- include "paceline.computingResources" $values | nindent 2 }}
  {{- end }}
volumeMounts:
  {{- if $program.name }}
  - {name: program, mountPath: /run/paceline}
  {{- else }}
  - {name: shm, mountPath: /dev/shm}
  {{- if $values.data.volume }}
  - {name: data, mountPath: /data, readOnly: true}
  {{- end }}
  {{- end }}
  {{- include "paceline.tlsMount" $root | nindent 2 }}
  {{- with $values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Requests and limits of who computes: a pool's, with its GPUs. */}}
{{- define "paceline.computingResources" -}}
{{- $resources := deepCopy .resources -}}
{{- if gt (int .gpu.count) 0 -}}
{{- $gpu := dict .gpu.resourceName (toString (int .gpu.count)) -}}
{{- $resources = mergeOverwrite $resources (dict "requests" $gpu "limits" (deepCopy $gpu)) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* How workers are replaced: a new one is made only where an old one has gone, for its
     GPU may be the last. Where all of them may be away at once, that is Recreate: the
     same for the pods, but `helm --wait` then waits for all of them, and otherwise for
     none. How many there are of a scaled pool is not known here.
     (dict "values" <a pool's> "scaled" false) */}}
{{- define "paceline.workerStrategy" -}}
{{- $replicas := int .values.replicas -}}
{{- $away := int .values.maxUnavailable -}}
{{- if hasSuffix "%" (toString .values.maxUnavailable) -}}
{{- $away = div (mul $replicas (trimSuffix "%" .values.maxUnavailable | int)) 100 | int -}}
{{- end -}}
{{- if and (not .scaled) (gt $replicas 0) (ge (max 1 $away | int) $replicas) -}}
type: Recreate
{{- else -}}
type: RollingUpdate
rollingUpdate: {maxSurge: 0, maxUnavailable: {{ .values.maxUnavailable }}}
{{- end -}}
{{- end -}}
