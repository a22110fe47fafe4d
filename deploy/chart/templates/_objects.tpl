{{- /* The chart's objects. Manifests are in files/, made by prefetchctl generate; what follows puts them together. */ -}}

{{- define "prefetchd.namespace" -}}
{{- .Values.namespace | default .Release.Namespace }}
{{- end }}

{{- define "prefetchd.image" -}}
{{- .Values.image | default (.Files.Get "files/settings.yaml" | fromYaml).image }}
{{- end }}

{{- /* (list ROOT NAME): a file of files/, for this namespace and this image. */ -}}
{{- define "prefetchd.file" -}}
{{- $root := index . 0 }}
{{- $text := $root.Files.Get (printf "files/%s.yaml" (index . 1)) }}
{{- if not $text }}{{ fail (printf "%s: the chart has no such file" (index . 1)) }}{{ end }}
{{- $text | replace "chart-namespace" (include "prefetchd.namespace" $root) | replace "chart.invalid/image:marker" (include "prefetchd.image" $root) }}
{{- end }}

{{- /* As a list in YAML: {objects: […]}. */ -}}
{{- define "prefetchd.objects" -}}
{{- $all := dict "root" . "settings" (include "prefetchd.file" (list . "settings") | fromYaml) }}
{{- $components := .Values.components | uniq }}
{{- if .Values.includeControlPlane }}{{ $components = append $components "control-plane" | uniq }}{{ end }}
{{- $platform := include "prefetchd.file" (list . (printf "platforms/%s" .Values.platform)) | fromYaml }}
{{- $_ := set $all "objects" (concat (include "prefetchd.file" (list . "common") | fromYaml).objects $platform.objects) }}
{{- range $components }}
{{-   include "prefetchd.component" (dict "all" $all "name" . "components" $components) }}
{{- end }}
{{- range $all.objects }}{{ if eq .kind "DaemonSet" }}{{ $_ := set $all "daemonSet" . }}{{ end }}{{ end }}
{{- include "prefetchd.agent" $all }}
{{- include "prefetchd.nodes" $all }}
{{- include "prefetchd.monitors" $all }}
{{- include "prefetchd.configuration" $all }}
{{- include "prefetchd.lists" $all }}
{{- include "prefetchd.hashes" $all }}
{{- toYaml (dict "objects" $all.objects) }}
{{- end }}

{{- /* Adds what a component adds, and changes what it changes. */ -}}
{{- define "prefetchd.component" -}}
{{- $all := .all }}
{{- $root := $all.root }}
{{- $file := include "prefetchd.file" (list $root (printf "components/%s" .name)) | fromYaml }}
{{- range $other, $why := $file.refusedWith }}
{{-   if has $other $.components }}{{ fail $why }}{{ end }}
{{- end }}
{{- $here := get ($file.onPlatform | default dict) $root.Values.platform | default $file }}
{{- if $here.refused }}{{ fail $here.refused }}{{ end }}
{{- $kept := list }}
{{- range $object := $all.objects }}
{{-   $gone := false }}
{{-   range $here.remove }}
{{-     if and (eq .kind $object.kind) (eq .name $object.metadata.name) }}{{ $gone = true }}{{ end }}
{{-   end }}
{{-   if not $gone }}{{ $kept = append $kept $object }}{{ end }}
{{- end }}
{{- $kept = concat $kept $here.objects }}
{{- if $here.only }}
{{-   if eq $here.only.namespace (include "prefetchd.namespace" $root) }}{{ $kept = concat $kept $here.only.objects }}{{ end }}
{{- end }}
{{- $_ := set $all "objects" $kept }}
{{- range $here.changes }}{{ include "prefetchd.change" (dict "objects" $kept "change" .) }}{{ end }}
{{- end }}

{{- /* One change of an object, at the mapping that `path` leads to; items of lists are found by their names. */ -}}
{{- define "prefetchd.change" -}}
{{- $change := .change }}
{{- $node := dict }}
{{- range .objects }}
{{-   if and (eq .kind $change.kind) (eq .metadata.name $change.name) }}{{ $node = . }}{{ end }}
{{- end }}
{{- range $step := compact (splitList "/" $change.path) }}
{{-   $next := dict }}
{{-   if kindIs "slice" $node }}
{{-     range $node }}{{ if eq .name $step }}{{ $next = . }}{{ end }}{{ end }}
{{-   else }}
{{-     $next = get $node $step }}
{{-   end }}
{{-   if not $next }}{{ fail (printf "%s %s has no %s" $change.kind $change.name $change.path) }}{{ end }}
{{-   $node = $next }}
{{- end }}
{{- range $key, $value := $change.set }}{{ $_ := set $node $key $value }}{{ end }}
{{- range $key := $change.unset }}{{ $_ := unset $node $key }}{{ end }}
{{- range $key, $items := $change.append }}{{ $_ := set $node $key (concat (get $node $key) $items) }}{{ end }}
{{- range $key, $items := $change.prepend }}{{ $_ := set $node $key (concat $items (get $node $key)) }}{{ end }}
{{- range $key, $names := $change.drop }}
{{-   $kept := list }}
{{-   range get $node $key }}{{ if not (has .name $names) }}{{ $kept = append $kept . }}{{ end }}{{ end }}
{{-   $_ := set $node $key $kept }}
{{- end }}
{{- end }}
