{{/* What `paceline certificate ensure` is asked for. */}}
{{- define "paceline.certificateArguments" -}}
{{- $fullname := include "paceline.fullname" . -}}
{{- $host := include "paceline.coordinatorHost" . -}}
{{- $hosts := concat (list (printf "%s-coordinator" $fullname) (printf "%s-coordinator.%s" $fullname .Release.Namespace) $host (printf "%s.cluster.local" $host) "localhost" "127.0.0.1") .Values.tls.coordinatorHosts -}}
- certificate
- ensure
- --kubernetes-secrets={{ $fullname }}-tls
- --label=app.kubernetes.io/instance={{ .Release.Name }}
- --label=paceline.dev/certificates={{ $fullname }}
- --days={{ .Values.tls.selfSigned.days }}
- --renew-before-days={{ .Values.tls.selfSigned.renewBeforeDays }}
- {{ printf "coordinator=server/coordinator,%s" (join "," $hosts) | quote }}
- "server=server/server,*.{{ $fullname }}-server.{{ .Release.Namespace }}.svc"
- worker=worker/worker
- admin=admin/admin
{{- end -}}

{{/* The pod of a job that writes secrets: (dict "root" $ "account" "certificates-setup" "args" <YAML>). */}}
{{- define "paceline.certificatePod" -}}
metadata:
  labels:
    {{- include "paceline.labels" (dict "root" .root "component" "certificates") | nindent 4 }}
spec:
  restartPolicy: OnFailure
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
        requests: {cpu: 10m, memory: 32Mi}
        limits: {memory: 128Mi}
{{- end -}}

{{/* Annotations of a hook: (dict "on" "pre-install" "weight" "-5"). */}}
{{- define "paceline.hook" -}}
helm.sh/hook: {{ .on | quote }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: {{ default "before-hook-creation,hook-succeeded" .delete | quote }}
{{- end -}}


{{/* Whom the certificates' jobs run as: the hooks' account lives as long as a hook, the other as long as the release. A map of name to annotations. */}}
{{- define "paceline.certificateAccounts" -}}
{{ include "paceline.fullname" . }}-certificates: {}
{{ include "paceline.fullname" . }}-certificates-setup:
  {{- include "paceline.hook" (dict "on" "pre-install,pre-upgrade,pre-rollback,post-delete" "weight" "-10") | nindent 2 }}
{{- end -}}
