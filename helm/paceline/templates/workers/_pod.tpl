{{/* The pod of a worker or evaluator: (dict "root" $ "component" "worker" "pool" "a100" "values" <a pool's>). */}}
{{- define "paceline.workerPod" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $gpus := int $values.gpu.count -}}
{{- $cuda := or (eq $values.image "cuda") (and (eq $values.image "auto") (gt $gpus 0)) -}}
metadata:
  {{- include "paceline.podMetadata" . | nindent 2 }}
spec:
  {{- include "paceline.podSettings" . | nindent 2 }}
  containers:
    - name: worker
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
        - --device={{ ternary "cuda" (ternary "auto" "cpu" $cuda) (gt $gpus 0) }}
        {{- if $cuda }}
        - --gpu-memory-fraction={{ $values.gpu.memoryFraction }}
        {{- end }}
        - --threads={{ int $values.threads }}
        - --metrics={{ $root.Values.listenHost }}:{{ $root.Values.metrics.port }}
        - --grace={{ $values.grace }}
        {{- if $root.Values.data.volume }}
        - --data-root=/data
        {{- end }}
        {{- range $key, $value := $values.labels }}
        - {{ printf "--label=%s=%s" $key (toString $value) | quote }}
        {{- end }}
        {{- include "paceline.tlsFlags" $root | nindent 8 }}
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
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "paceline.probes" $root | nindent 6 }}
      securityContext:
        {{- include "paceline.containerSecurity" $root | nindent 8 }}
      {{- $resources := deepCopy $values.resources }}
      {{- if gt $gpus 0 }}
      {{- $gpu := dict $values.gpu.resourceName (toString $gpus) }}
      {{- $resources = mergeOverwrite $resources (dict "requests" $gpu "limits" (deepCopy $gpu)) }}
      {{- end }}
      resources:
        {{- toYaml $resources | nindent 8 }}
      volumeMounts:
        - {name: shm, mountPath: /dev/shm}
        {{- if $root.Values.data.volume }}
        - {name: data, mountPath: /data, readOnly: true}
        {{- end }}
        {{- include "paceline.tlsMount" $root | nindent 8 }}
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: shm
      emptyDir: {medium: Memory, sizeLimit: {{ $values.shmSize | quote }}}
    {{- with $root.Values.data.volume }}
    - name: data
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- include "paceline.tlsVolume" (dict "root" $root "name" "worker") | nindent 4 }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
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
