{{/* What all pods have in common. */}}

{{/* Of a pod's spec: (dict "root" $ "values" <its values> "component" "server"); "account": one whose token it uses. */}}
{{- define "paceline.podSettings" -}}
serviceAccountName: {{ default (include "paceline.serviceAccountName" .root) .account }}
automountServiceAccountToken: {{ ne (default "" .account) "" }}
enableServiceLinks: false
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .values.schedulerName }}
schedulerName: {{ . | quote }}
{{- end }}
{{- with .values.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where checkpoints are on a volume of one node, all who share it go there;
     else servers keep apart. (dict "root" $ "values" <its values> "selector" <labels>) */}}
{{- define "paceline.checkpointsAffinity" -}}
{{- $checkpoints := .root.Values.checkpoints -}}
{{- if .values.affinity -}}
{{- else if and (include "paceline.checkpointsVolume" .root) (not (has "ReadWriteMany" $checkpoints.accessModes)) -}}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchExpressions:
            - {key: app.kubernetes.io/instance, operator: In, values: [{{ .root.Release.Name | quote }}]}
            - {key: app.kubernetes.io/component, operator: In, values: [coordinator, server]}
{{- else -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- .selector | nindent 14 }}
{{- end -}}
{{- end -}}

{{- define "paceline.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Metadata of a pod: (dict "root" $ "component" "server" "pool" "a100" "values" <its values>). */}}
{{- define "paceline.podMetadata" -}}
labels:
  {{- include "paceline.podLabels" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) .values.podAnnotations .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Probes of a process with a monitoring port. Liveness asks nobody's peers. */}}
{{- define "paceline.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end -}}

{{/* Flags for TLS and its absence; the files are mounted in /tls. */}}
{{- define "paceline.tlsFlags" -}}
{{- if eq .Values.tls.mode "disabled" }}
- --insecure-plaintext
{{- else }}
- --tls-cert=/tls/tls.crt
- --tls-key=/tls/tls.key
- --tls-ca=/tls/ca.crt
{{- end }}
{{- end -}}

{{/* (dict "root" $ "name" "server") */}}
{{- define "paceline.tlsSecret" -}}
{{- if eq .root.Values.tls.mode "existingSecrets" -}}
{{ required (printf "tls.mode is existingSecrets: tls.existingSecrets.%s is missing" .name) (index .root.Values.tls.existingSecrets .name) }}
{{- else -}}
{{ include "paceline.fullname" .root }}-tls-{{ .name }}
{{- end -}}
{{- end -}}

{{- define "paceline.tlsVolume" -}}
{{- if ne .root.Values.tls.mode "disabled" }}
- name: tls
  secret:
    secretName: {{ include "paceline.tlsSecret" . }}
    defaultMode: 288
{{- end }}
{{- end -}}

{{- define "paceline.tlsMount" -}}
{{- if ne .Values.tls.mode "disabled" }}
- {name: tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- end -}}

{{/* A claim's spec: (dict "values" .Values.checkpoints). */}}
{{- define "paceline.claimSpec" -}}
accessModes:
  {{- toYaml .values.accessModes | nindent 2 }}
{{- if eq .values.storageClass "-" }}
storageClassName: ""
{{- else if .values.storageClass }}
storageClassName: {{ .values.storageClass | quote }}
{{- end }}
resources:
  requests:
    storage: {{ .values.size | quote }}
{{- end -}}

{{/* "true" where checkpoints are on a volume, and not in a bucket. */}}
{{- define "paceline.checkpointsVolume" -}}
{{- if and .Values.checkpoints.enabled (not .Values.checkpoints.s3.path) }}true{{ end -}}
{{- end -}}

{{/* How processes are told where checkpoints are. */}}
{{- define "paceline.checkpointsFlag" -}}
{{- if .Values.checkpoints.enabled }}
- {{ printf "--checkpoints=%s" (default "/checkpoints" .Values.checkpoints.s3.path) | quote }}
{{- end }}
{{- end -}}

{{/* Variables by which they find the bucket. */}}
{{- define "paceline.checkpointsEnv" -}}
{{- if and .Values.checkpoints.enabled .Values.checkpoints.s3.path }}
{{- with .Values.checkpoints.s3.endpoint }}
- {name: AWS_ENDPOINT_URL_S3, value: {{ . | quote }}}
{{- end }}
- {name: AWS_REGION, value: {{ .Values.checkpoints.s3.region | quote }}}
{{- end }}
{{- end -}}

{{/* envFrom of a container, with the secret of the bucket and its own: (dict "root" $ "values" <its values>). */}}
{{- define "paceline.envFrom" -}}
{{- $s3 := .root.Values.checkpoints.s3 -}}
{{- $secret := ternary $s3.existingSecret "" (and .root.Values.checkpoints.enabled (ne $s3.path "")) -}}
{{- if or $secret .values.extraEnvFrom }}
envFrom:
  {{- with $secret }}
  - secretRef: {name: {{ . | quote }}}
  {{- end }}
  {{- with .values.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "paceline.checkpointsClaim" -}}
{{- default (printf "%s-checkpoints" (include "paceline.fullname" .)) .Values.checkpoints.existingClaim -}}
{{- end -}}

{{/* Of a coordinator: (dict "root" $ "second" false). */}}
{{- define "paceline.storeClaim" -}}
{{- $persistence := .root.Values.coordinator.persistence -}}
{{- if .second -}}
{{- default (printf "%s-store-second" (include "paceline.fullname" .root)) $persistence.existingSecondClaim -}}
{{- else -}}
{{- default (printf "%s-store" (include "paceline.fullname" .root)) $persistence.existingClaim -}}
{{- end -}}
{{- end -}}

{{- define "paceline.pdbApiVersion" -}}
{{- if semverCompare ">=1.21.0-0" .Capabilities.KubeVersion.Version }}policy/v1{{ else }}policy/v1beta1{{ end -}}
{{- end -}}

{{- define "paceline.cronJobApiVersion" -}}
{{- if semverCompare ">=1.21.0-0" .Capabilities.KubeVersion.Version }}batch/v1{{ else }}batch/v1beta1{{ end -}}
{{- end -}}
