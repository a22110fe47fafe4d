{{- /* What the values change. Each template gets {root, settings, objects, daemonSet}, and changes it in place. */ -}}

{{- /* The agent's container: port, gate, kubelet's version, resources, pull secrets. */ -}}
{{- define "prefetchd.agent" -}}
{{- $values := .root.Values }}
{{- $pod := .daemonSet.spec.template.spec }}
{{- $agent := first $pod.containers }}
{{- if $values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" $values.imagePullSecrets }}{{ end }}
{{- include "prefetchd.pullSecrets" (dict "values" $values "pod" $pod "agent" $agent) }}
{{- if $values.resources }}{{ $_ := set $agent "resources" (mergeOverwrite $agent.resources (deepCopy $values.resources)) }}{{ end }}
{{- if $values.kubeletVersion }}
{{-   range $agent.env }}
{{-     if eq .name "PREFETCHD_KUBELET_VERSION" }}{{ $_ := set . "value" $values.kubeletVersion }}{{ end }}
{{-   end }}
{{- end }}
{{- if and $values.gate (not (has "node-gate" $values.components)) }}{{ fail "gate needs the component node-gate" }}{{ end }}
{{- $args := list }}
{{- range $arg := $agent.args }}
{{-   $kept := true }}
{{-   range $part, $flag := $.settings.gate }}
{{-     if and $values.gate (eq $arg $flag) (not (has $part $values.gate)) }}{{ $kept = false }}{{ end }}
{{-   end }}
{{-   if and $values.port (hasPrefix "--listen=" $arg) }}{{ $arg = regexReplaceAll ":[0-9]+$" $arg (printf ":%d" (int $values.port)) }}{{ end }}
{{-   if $kept }}{{ $args = append $args $arg }}{{ end }}
{{- end }}
{{- if $values.startupTaintKey }}
{{-   if not (has $.settings.gate.taint $args) }}{{ fail "startupTaintKey needs the component node-gate, and taint in gate" }}{{ end }}
{{-   $args = append $args (printf "--startup-taint-key=%s" $values.startupTaintKey) }}
{{-   range .objects }}
{{-     if and (eq .kind "ValidatingAdmissionPolicy") (eq .metadata.name "prefetchd-node-gate") }}
{{-       range .spec.variables }}
{{-         if eq .name "startupTaints" }}{{ $_ := set . "expression" (printf "['%s', '%s']" $.settings.ownToleration.key $values.startupTaintKey) }}{{ end }}
{{-       end }}
{{-     end }}
{{-   end }}
{{- end }}
{{- $_ := set $agent "args" $args }}
{{- if $values.port }}
{{-   range $agent.ports }}
{{-     $_ := set . "containerPort" (int $values.port) }}
{{-     if hasKey . "hostPort" }}{{ $_ := set . "hostPort" (int $values.port) }}{{ end }}
{{-   end }}
{{- end }}
{{- end }}

{{- /* (dict "values" … "pod" … "agent" …): the Secrets of mountedPullSecrets, each a volume of its own. */ -}}
{{- define "prefetchd.pullSecrets" -}}
{{- $volumes := list }}
{{- $mounts := list }}
{{- $declared := list }}
{{- range (fromYaml .values.agentConfig).pullSecrets }}
{{-   $declared = append $declared (regexReplaceAll "/+$" (.path | default "") "") }}
{{- end }}
{{- range .values.mountedPullSecrets }}
{{-   $folder := printf "/etc/prefetchd/secrets/%s" . }}
{{-   if not (has $folder $declared) }}
{{-     fail (printf "mountedPullSecrets: no entry of pullSecrets in agentConfig has the path %s" $folder) }}
{{-   end }}
{{-   $name := printf "pull-secret-%s" . }}
{{-   $volumes = append $volumes (dict "name" $name "secret" (dict "secretName" .)) }}
{{-   $mounts = append $mounts (dict "name" $name "mountPath" $folder "readOnly" true) }}
{{- end }}
{{- $_ := set .pod "volumes" (concat $volumes .pod.volumes) }}
{{- $_ := set .agent "volumeMounts" (concat $mounts .agent.volumeMounts) }}
{{- end }}

{{- /* Which nodes. The agent's own startup taint never keeps the agent off. */ -}}
{{- define "prefetchd.nodes" -}}
{{- $values := .root.Values }}
{{- $pod := .daemonSet.spec.template.spec }}
{{- $_ := set $pod "nodeSelector" (mergeOverwrite $pod.nodeSelector (deepCopy $values.nodeSelector)) }}
{{- if $values.tolerations }}
{{-   $tolerations := $values.tolerations }}
{{-   if $values.startupTaintKey }}{{ $tolerations = append $tolerations (dict "key" $values.startupTaintKey "operator" "Exists") }}{{ end }}
{{-   $_ := set $pod "tolerations" (append $tolerations .settings.ownToleration) }}
{{- end }}
{{- end }}

{{- define "prefetchd.monitors" -}}
{{- $labels := .root.Values.monitoringLabels }}
{{- $monitors := 0 }}
{{- range .objects }}
{{-   if hasPrefix "monitoring.coreos.com/" .apiVersion }}
{{-     $monitors = add1 $monitors }}
{{-     if $labels }}{{ $_ := set .metadata "labels" (mergeOverwrite (.metadata.labels | default dict) (deepCopy $labels)) }}{{ end }}
{{-   end }}
{{- end }}
{{- if and $labels (not $monitors) }}{{ fail "monitoringLabels needs the component monitoring" }}{{ end }}
{{- end }}

{{- /* (dict "objects" … "name" NAME "into" DICT): the ConfigMap of this name as `found` of DICT. */ -}}
{{- define "prefetchd.configMap" -}}
{{- range .objects }}
{{-   if and (eq .kind "ConfigMap") (eq .metadata.name $.name) }}{{ $_ := set $.into "found" . }}{{ end }}
{{- end }}
{{- end }}

{{- /* agent.yaml. Platforms need the shipped file's one field for their credential plugins. */ -}}
{{- define "prefetchd.configuration" -}}
{{- $text := .root.Values.agentConfig }}
{{- if $text }}
{{-   include "prefetchd.configMap" (dict "objects" .objects "name" "prefetchd-agent" "into" .) }}
{{-   $shipped := index .found.data "agent.yaml" | fromYaml }}
{{-   $given := fromYaml $text }}
{{-   if not (hasKey $given "kind") }}{{ fail "agentConfig must be the text of an AgentConfiguration, as --set-file agentConfig=agent.yaml gives it" }}{{ end }}
{{-   if not (hasKey $given "providerEnvironment") }}
{{-     if hasPrefix "{" (trim $text) }}{{ fail "agentConfig in JSON must have the field providerEnvironment; or write it as YAML" }}{{ end }}
{{-     $text = printf "%s\nproviderEnvironment: %s\n" (trimSuffix "\n" $text) $shipped.providerEnvironment }}
{{-   end }}
{{-   $_ := set .found.data "agent.yaml" $text }}
{{- end }}
{{- end }}

{{- /* The ConfigMaps of the list, and the volume of all of them. */ -}}
{{- define "prefetchd.lists" -}}
{{- $all := . }}
{{- $list := .root.Values.list }}
{{- include "prefetchd.configMap" (dict "objects" .objects "name" "prefetchd-list" "into" .) }}
{{- $first := .found }}
{{- $names := list $first.metadata.name }}
{{- $files := list }}
{{- if $list.existingConfigMap }}
{{-   if $list.text }}{{ fail "list.text and list.existingConfigMap are alternatives: leave out one" }}{{ end }}
{{-   $names = list $list.existingConfigMap }}
{{-   $kept := list }}
{{-   range .objects }}{{ if not (and (eq .kind "ConfigMap") (eq .metadata.name $first.metadata.name)) }}{{ $kept = append $kept . }}{{ end }}{{ end }}
{{-   $_ := set . "objects" $kept }}
{{- else if $list.text }}
{{-   $_ := set $first "data" (dict $list.name $list.text) }}
{{-   $files = list $list.name }}
{{- end }}
{{- $further := list }}
{{- range $list.more }}
{{-   $made := deepCopy $all.settings.furtherList }}
{{-   $stem := trimAll "-" (regexReplaceAll "[^a-z0-9]" (lower (regexReplaceAll "\\.[^.]*$" .name "")) "-") | trunc 40 | trimAll "-" | default "list" }}
{{-   $_ := set $made.metadata "name" (printf "%s-%s" $first.metadata.name $stem) }}
{{-   $_ := set $made "data" (dict .name .text) }}
{{-   $further = append $further $made }}
{{- end }}
{{- if and .root.Values.image (has "preflight" .root.Values.components) }}
{{-   $further = append $further (deepCopy .settings.ownImageList) }}
{{- end }}
{{- range $further }}
{{-   if not $first.immutable }}{{ $_ := unset . "immutable" }}{{ end }}
{{-   if has .metadata.name $names }}{{ fail (printf "list.more: several files would be the ConfigMap %s: rename one" .metadata.name) }}{{ end }}
{{-   $names = append $names .metadata.name }}
{{-   range $file, $_ := .data }}
{{-     if has $file $files }}{{ fail (printf "list: several files have the name %s: rename one" $file) }}{{ end }}
{{-     $files = append $files $file }}
{{-   end }}
{{- end }}
{{- $_ := set . "objects" (concat .objects $further) }}
{{- range .daemonSet.spec.template.spec.volumes }}
{{-   if eq .name "list" }}
{{-     $sources := list }}
{{-     range $names }}{{ $sources = append $sources (dict "configMap" (dict "name" .)) }}{{ end }}
{{-     $_ := unset . "configMap" }}
{{-     if eq (len $names) 1 }}
{{-       $_ := set . "configMap" (dict "name" (first $names)) }}
{{-     else }}
{{-       $_ := set . "projected" (dict "sources" $sources) }}
{{-     end }}
{{-   end }}
{{- end }}
{{- end }}

{{- /* Immutable ConfigMaps end with kustomize's hash of their data, so that a change rolls out the DaemonSet. */ -}}
{{- define "prefetchd.hashes" -}}
{{- $renamed := dict }}
{{- range .objects }}
{{-   if and (eq .kind "ConfigMap") .immutable }}
{{-     $hash := dict "data" .data "kind" "ConfigMap" "name" "" | toJson | sha256sum | trunc 10 }}
{{-     $hash = $hash | replace "0" "g" | replace "1" "h" | replace "3" "k" | replace "a" "m" | replace "e" "t" }}
{{-     $_ := set $renamed .metadata.name (printf "%s-%s" .metadata.name $hash) }}
{{-     $_ := set .metadata "name" (get $renamed .metadata.name) }}
{{-   end }}
{{- end }}
{{- range .daemonSet.spec.template.spec.volumes }}
{{-   $sources := list }}
{{-   if .projected }}{{ $sources = .projected.sources }}{{ else if .configMap }}{{ $sources = list . }}{{ end }}
{{-   range $sources }}
{{-     if hasKey $renamed .configMap.name }}{{ $_ := set .configMap "name" (get $renamed .configMap.name) }}{{ end }}
{{-   end }}
{{- end }}
{{- end }}
