{{/* What the schema cannot say. */}}

{{/* Seconds of a duration: "1m30s". */}}
{{- define "paceline.seconds" -}}
{{- $now := now -}}
{{- sub ($now | dateModify (printf "+%s" .) | unixEpoch) ($now | unixEpoch) -}}
{{- end -}}

{{/* After its grace a process needs up to 8 s to end its streams.
     (dict "path" "servers" "values" .Values.servers) */}}
{{- define "paceline.checkGrace" -}}
{{- if lt (int .values.terminationGracePeriodSeconds) (add 10 (int (include "paceline.seconds" .values.grace)) | int) -}}
{{- fail (printf "%s.terminationGracePeriodSeconds is %d, which is not 10 s longer than %s.grace, %s: the process would be killed before it has ended" .path (int .values.terminationGracePeriodSeconds) .path .values.grace) -}}
{{- end -}}
{{- end -}}

{{- define "paceline.checkPool" -}}
{{- include "paceline.checkGrace" . -}}
{{- if and (eq .values.image "cpu") (gt (int .values.gpu.count) 0) (not .values.program.name) -}}
{{- fail (printf "%s.image is cpu and %s.gpu.count is %d: the CPU image has no use for GPUs" .path .path (int .values.gpu.count)) -}}
{{- end -}}
{{- include "paceline.checkProgram" . -}}
{{- if and (gt (int .values.inFlight) 1) .values.program.name (ne .path "evaluators") -}}
{{- fail (printf "%s.inFlight is %d, and %s.program.name is set: a pod has one program, which computes one iteration at a time" .path (int .values.inFlight) .path) -}}
{{- end -}}
{{- if has (toString .values.maxUnavailable) (list "0" "0%") -}}
{{- fail (printf "%s.maxUnavailable is %v: no worker could ever be replaced, for a new one is made only where an old one has gone" .path .values.maxUnavailable) -}}
{{- end -}}
{{- if le (float64 .values.gpu.memoryFraction) 0.0 -}}
{{- fail (printf "%s.gpu.memoryFraction is 0: a worker needs some memory" .path) -}}
{{- end -}}
{{- end -}}

{{- define "paceline.checkRoute" -}}
{{- $route := .Values.coordinator.grpcRoute -}}
{{- if $route.enabled -}}
{{- if not $route.parentRefs -}}
{{- fail "coordinator.grpcRoute.parentRefs is missing: name the gateway" -}}
{{- end -}}
{{- if not (or .Values.tokens.existingSecret (eq .Values.tls.mode "disabled")) -}}
{{- fail "coordinator.grpcRoute.enabled needs tokens.existingSecret: a gateway ends TLS, and clients' certificates do not get through it" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1/GRPCRoute") -}}
{{- fail "coordinator.grpcRoute.enabled needs the Gateway API, whose GRPCRoute this cluster does not have" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "paceline.checks" -}}
{{- $fullname := include "paceline.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $fullname) -}}
{{- fail (printf "objects would be named %q, which Kubernetes does not take: set fullnameOverride" $fullname) -}}
{{- end -}}
{{- if and (eq .Values.tls.mode "disabled") .Values.tokens.existingSecret -}}
{{- fail "tokens.existingSecret needs TLS: without certificates, workers and servers have nothing to show" -}}
{{- end -}}
{{- include "paceline.checkRoute" . -}}
{{- if and .Values.checkpoints.s3.path .Values.checkpoints.existingClaim -}}
{{- fail "checkpoints.s3.path and checkpoints.existingClaim are both set: checkpoints are in a bucket or on a volume" -}}
{{- end -}}
{{- range $name := list "endpoint" "existingSecret" -}}
{{- if and (index $.Values.checkpoints.s3 $name) (not $.Values.checkpoints.s3.path) -}}
{{- fail (printf "checkpoints.s3.%s is set and checkpoints.s3.path is not: name the bucket" $name) -}}
{{- end -}}
{{- end -}}
{{- include "paceline.checkGrace" (dict "path" "coordinator" "values" .Values.coordinator) -}}
{{- include "paceline.checkGrace" (dict "path" "servers" "values" .Values.servers) -}}
{{- range $name, $pool := .Values.pools -}}
{{- if not (kindIs "invalid" $pool) -}}
{{- $scope := dict "root" $ "path" (printf "pools.%s" $name) "values" (include "paceline.pool" (dict "root" $ "pool" $pool) | fromYaml) -}}
{{- include "paceline.checkPool" $scope -}}
{{- include "paceline.checkScaling" $scope -}}
{{- end -}}
{{- end -}}
{{- include "paceline.checkPool" (dict "path" "evaluators" "values" (include "paceline.pool" (dict "root" $ "pool" .Values.evaluators) | fromYaml)) -}}
{{- if and (eq .Values.tls.mode "selfSigned") (ge (int .Values.tls.selfSigned.renewBeforeDays) (int .Values.tls.selfSigned.days)) -}}
{{- fail "tls.selfSigned.renewBeforeDays must be less than tls.selfSigned.days, or every run would exchange all certificates" -}}
{{- end -}}
{{- range $path, $port := dict "coordinator.port" .Values.coordinator.port "servers.port" .Values.servers.port -}}
{{- if eq (int $port) (int $.Values.metrics.port) -}}
{{- fail (printf "metrics.port and %s are both %d: give them different ones" $path (int $port)) -}}
{{- end -}}
{{- end -}}
{{- range $name, $monitor := dict "podMonitor" .Values.metrics.podMonitor "prometheusRule" .Values.metrics.prometheusRule -}}
{{- if and $monitor.enabled (not ($.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
{{- fail (printf "metrics.%s.enabled needs the Prometheus operator, whose types this cluster does not have" $name) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.tls.mode "certManager") (not (.Capabilities.APIVersions.Has "cert-manager.io/v1")) -}}
{{- fail "tls.mode is certManager, and this cluster does not have cert-manager's types" -}}
{{- end -}}
{{- end -}}
