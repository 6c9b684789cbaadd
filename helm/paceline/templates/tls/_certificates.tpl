{{/* By what names clients may dial the coordinator. */}}
{{- define "paceline.coordinatorHosts" -}}
{{- $name := printf "%s-coordinator" (include "paceline.fullname" .) -}}
{{- $host := include "paceline.coordinatorHost" . -}}
{{- $pods := list -}}
{{- if gt (int .Values.coordinator.replicas) 1 -}}
{{- range include "paceline.coordinatorNames" . | fromYamlArray -}}
{{- $pods = append $pods (printf "%s-0.%s.svc" . $.Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- concat (list $name (printf "%s.%s" $name .Release.Namespace) $host (printf "%s.cluster.local" $host) "localhost" "127.0.0.1") $pods .Values.tls.coordinatorHosts | toYaml -}}
{{- end -}}

{{/* By which the secrets are found again. */}}
{{- define "paceline.certificateLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
paceline.dev/certificates: {{ include "paceline.fullname" . | quote }}
{{- end -}}

{{/* What `paceline certificate ensure` is asked for. */}}
{{- define "paceline.certificateArguments" -}}
{{- $fullname := include "paceline.fullname" . -}}
{{- $host := include "paceline.coordinatorHost" . -}}
{{- $hosts := include "paceline.coordinatorHosts" . | fromYamlArray -}}
- certificate
- ensure
- --kubernetes-secrets={{ $fullname }}-tls
{{- range $key, $value := include "paceline.certificateLabels" . | fromYaml }}
- --label={{ $key }}={{ $value }}
{{- end }}
- --days={{ .Values.tls.selfSigned.days }}
- --renew-before-days={{ .Values.tls.selfSigned.renewBeforeDays }}
- {{ printf "coordinator=coordinator/coordinator,%s" (join "," $hosts) | quote }}
- "server=server/server,*.{{ $fullname }}-server.{{ .Release.Namespace }}.svc"
- worker=worker/worker
- admin=admin/admin
{{- end -}}

{{/* The pod of a job that writes secrets: (dict "root" $ "account" "certificates-setup" "args" <YAML>). */}}
{{- define "paceline.certificatePod" -}}
metadata:
  labels:
    {{- include "paceline.podLabels" (dict "root" .root "component" "certificates") | nindent 4 }}
  {{- with merge (dict) .root.Values.hooks.podAnnotations .root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  restartPolicy: Never
  {{- with .root.Values.hooks.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.hooks.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ include "paceline.fullname" .root }}-{{ .account }}
  enableServiceLinks: false
  securityContext:
    {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  {{- with .root.Values.global.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . | quote }}
    {{- end }}
  {{- end }}
  containers:
    - name: certificates
      image: {{ include "paceline.image" (dict "root" .root "image" .root.Values.images.server) | quote }}
      imagePullPolicy: {{ .root.Values.images.pullPolicy }}
      command: [paceline]
      args:
        {{- .args | nindent 8 }}
      securityContext:
        {{- include "paceline.containerSecurity" .root | nindent 8 }}
      resources:
        {{- toYaml .root.Values.hooks.resources | nindent 8 }}
{{- end -}}

{{/* Annotations of a hook: (dict "on" "pre-install" "weight" "-5"). */}}
{{- define "paceline.hook" -}}
helm.sh/hook: {{ .on | quote }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: {{ default "before-hook-creation,hook-succeeded" .delete | quote }}
{{- end -}}


{{/* Whom the certificates' jobs run as: the hooks' account lives as long as a hook, the other as long as the release. A map of name to annotations. */}}
{{- define "paceline.certificateAccounts" -}}
{{- if eq .Values.tls.mode "selfSigned" }}
{{ include "paceline.fullname" . }}-certificates: {}
{{- end }}
{{ include "paceline.fullname" . }}-certificates-setup:
  {{- include "paceline.hook" (dict "on" "pre-install,pre-upgrade,pre-rollback,post-delete" "weight" "-10") | nindent 2 }}
{{- end -}}
