{{/* A program of one's own beside its agent. */}}

{{/* Its container; it holds no certificate, for the agent alone speaks with others.
     (dict "root" $ "values" <a pool's>) */}}
{{- define "paceline.programContainer" -}}
{{- $root := .root -}}
{{- $program := .values.program -}}
name: program
image: {{ $program.image | quote }}
imagePullPolicy: {{ $root.Values.images.pullPolicy }}
{{- with $program.command }}
command:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $program.args }}
args:
  {{- toYaml . | nindent 2 }}
{{- end }}
env:
  - {name: PACELINE_PROGRAM, value: /run/paceline/program.sock}
  # A user that the image does not know has no home.
  - {name: HOME, value: /tmp}
  {{- if eq (int .values.gpu.count) 0 }}
  # Images with CUDA ask for all GPUs, and these belong to others.
  - {name: NVIDIA_VISIBLE_DEVICES, value: void}
  {{- end }}
  {{- with $program.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $program.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- mergeOverwrite (include "paceline.containerSecurity" $root | fromYaml) (dict "readOnlyRootFilesystem" $program.readOnlyRootFilesystem) | toYaml | nindent 2 }}
resources:
  {{- include "paceline.computingResources" .values | nindent 2 }}
volumeMounts:
  - {name: program, mountPath: /run/paceline}
  - {name: shm, mountPath: /dev/shm}
  - {name: tmp, mountPath: /tmp}
  {{- if .values.data.volume }}
  - {name: data, mountPath: /data, readOnly: true}
  {{- end }}
  {{- with $program.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Requests and limits of an agent: it makes the memory of weights and gradients, which
     the program maps. Takes a pool's `program`. */}}
{{- define "paceline.agentResources" -}}
{{- $arenas := mul 2 (include "paceline.mebibytes" .weightsSize | int) -}}
{{- $resources := deepCopy .agentResources -}}
{{- range $kind := list "requests" "limits" -}}
{{- $of := get $resources $kind | default (dict) -}}
{{- with $of.memory -}}
{{- $_ := set $of "memory" (printf "%dMi" (add $arenas (include "paceline.mebibytes" . | int))) -}}
{{- end -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- define "paceline.mebibytes" -}}
{{- $number := regexFind "^[0-9]+" . | int -}}
{{- ternary (mul 1024 $number) $number (hasSuffix "Gi" .) -}}
{{- end -}}

{{/* (dict "path" "pools.a100" "values" <a pool's>) */}}
{{- define "paceline.checkProgram" -}}
{{- $program := .values.program -}}
{{- if and $program.name (not $program.image) -}}
{{- fail (printf "%s.program.name is %s and %s.program.image is missing: name the image with the program" .path $program.name .path) -}}
{{- end -}}
{{- if and $program.image (not $program.name) -}}
{{- fail (printf "%s.program.image is %s and %s.program.name is missing: name the program, as jobs do in `model: program:NAME`" .path $program.image .path) -}}
{{- end -}}
{{- if $program.name -}}
{{- if eq .values.image "cuda" -}}
{{- fail (printf "%s.image is cuda and %s.program.name is %s: the agent of a program computes nothing, and the GPU is the program's" .path .path $program.name) -}}
{{- end -}}
{{- range $kind, $of := $program.agentResources -}}
{{- with $of.memory -}}
{{- if not (regexMatch "^[0-9]+(Mi|Gi)$" (toString .)) -}}
{{- fail (printf "%s.program.agentResources.%s.memory is %v: want Mi or Gi, as 256Mi, for the model's weights are added" $.path $kind .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
