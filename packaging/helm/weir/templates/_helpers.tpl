{{- define "weir.name" -}}
{{- if eq .Release.Name "weir" -}}weir{{- else -}}{{ printf "%s-weir" .Release.Name | trunc 50 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "weir.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Of the pods of a part: (dict "root" $ "role" "media"). Relays of SIP calls are the part "sip". */}}
{{- define "weir.selector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{/* The part of the configuration that both roles have; @ADDRESS@ is that of the pod or its machine. */}}
{{- define "weir.cluster" -}}
ca: /etc/weir/cluster/ca.pem
certificate: /etc/weir/cluster/weir.pem
key: /etc/weir/cluster/weir.key
store: {{ toJson .Values.store }}
{{- end -}}

{{- define "weir.common" -}}
{{- with .Values.metrics.token }}
metrics: {token: {{ . | quote }}}
{{- end }}
{{- end -}}

{{- define "weir.controllerConfig" -}}
{{- $own := .Values.controllers -}}
port: {{ $own.port }}
key_file: /etc/weir/keys
trusted_proxies: {{ toJson $own.trustedProxies }}
drain_timeout: {{ int $own.drainTimeout }}
{{- include "weir.common" . }}
cluster:
  {{- include "weir.cluster" . | nindent 2 }}
  secrets: /etc/weir/cluster/secrets
  {{- with $own.region }}
  region: {{ . | quote }}
  {{- end }}
  controllers:
    listen: {{ printf "0.0.0.0:%v" $own.clusterPort | quote }}
    advertise: {{ printf "@ADDRESS@:%v" $own.clusterPort | quote }}
{{- end -}}

{{- define "weir.mediaConfig" -}}
{{- $own := .Values.media -}}
port: {{ $own.port }}
rtc:
  port: {{ $own.rtcPort }}
  tcp_port: {{ $own.rtcTcpPort }}
  use_external_ip: {{ $own.useExternalIp }}
drain_timeout: {{ int $own.drainTimeout }}
{{- include "weir.common" . }}
cluster:
  {{- include "weir.cluster" . | nindent 2 }}
  {{- with $own.region }}
  region: {{ . | quote }}
  {{- end }}
  {{- with $own.capacity }}
  capacity: {{ int . }}
  {{- end }}
  listen: {{ printf "0.0.0.0:%v" $own.clusterPort | quote }}
  advertise: {{ printf "@ADDRESS@:%v" $own.clusterPort | quote }}
{{- end -}}

{{- define "weir.sipConfig" -}}
{{- $own := .Values.sip -}}
{{- if not $own.proxies }}{{ fail "sip.proxies names the proxies that control calls" }}{{ end -}}
{{- if not (or $own.ngPort $own.rtpproxyPort) }}{{ fail "sip needs an ngPort or an rtpproxyPort" }}{{ end -}}
# The address of the machine is that of media, too.
bind: ["@IP@"]
port: {{ $own.port }}
rtc:
  port: {{ $own.rtcPort }}
  tcp_port: 0
  use_external_ip: {{ $own.useExternalIp }}
drain_timeout: {{ int $own.drainTimeout }}
{{- include "weir.common" . }}
cluster:
  {{- include "weir.cluster" . | nindent 2 }}
  {{- with $own.region }}
  region: {{ . | quote }}
  {{- end }}
  capacity: 0
  listen: {{ printf "0.0.0.0:%v" $own.clusterPort | quote }}
  advertise: {{ printf "@ADDRESS@:%v" $own.clusterPort | quote }}
  sip:
    listen: {{ printf "0.0.0.0:%v" $own.sipPort | quote }}
    advertise: {{ printf "@ADDRESS@:%v" $own.sipPort | quote }}
sip:
  {{- with $own.ngPort }}
  ng: {listen: {{ printf "@ADDRESS@:%v" . | quote }}}
  {{- end }}
  {{- with $own.rtpproxyPort }}
  rtpproxy: {listen: {{ printf "@ADDRESS@:%v" . | quote }}}
  {{- end }}
  allow: {{ toJson $own.proxies }}
  interfaces: [{ports: {{ $own.mediaPorts }}}]
{{- end -}}

{{/* The configuration with more of it: (dict "text" ... "more" ...). */}}
{{- define "weir.config" -}}
{{- $own := fromYaml .text -}}
{{- with get $own "Error" }}{{ fail . }}{{ end -}}
{{- mustMergeOverwrite $own (deepCopy .more) | toYaml -}}
{{- end -}}

{{/* The pod of a part: (dict "root" $ "role" "media" "own" .Values.media "address" "status.hostIP"). */}}
{{- define "weir.pod" -}}
{{- $values := .root.Values -}}
{{- $isNode := ne .role "controller" -}}
{{- $image := printf "%s:%s" $values.image.repository ($values.image.tag | default .root.Chart.AppVersion) -}}
metadata:
  labels:
    {{- include "weir.labels" .root | nindent 4 }}
    {{- include "weir.selector" . | nindent 4 }}
  annotations:
    # Pods begin anew with another configuration.
    checksum/config: {{ .config | sha256sum }}
    {{- with .own.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with $values.imagePullSecrets }}
  imagePullSecrets: {{ toJson . }}
  {{- end }}
  automountServiceAccountToken: false
  {{- if $isNode }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  # The drain, and the messages after it.
  terminationGracePeriodSeconds: {{ add .own.drainTimeout 30 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- with .own.nodeSelector }}
  nodeSelector: {{ toJson . }}
  {{- end }}
  {{- with .own.tolerations }}
  tolerations: {{ toJson . }}
  {{- end }}
  {{- with .own.affinity }}
  affinity: {{ toJson . }}
  {{- end }}
  {{- if eq .role "controller" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "weir.selector" . | nindent 10 }}
  {{- end }}
  initContainers:
    # The address at which others reach this pod is known only here.
    - name: address
      image: {{ $image | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      command: [/bin/sh, -euc]
      args:
        - |
          umask 077
          IP=$ADDRESS
          case "$ADDRESS" in *:*) ADDRESS="[$ADDRESS]" ;; esac
          sed "s/@ADDRESS@/$ADDRESS/g; s/@IP@/$IP/g" /etc/weir/template/weir.yaml >/run/weir/weir.yaml
      env:
        - name: ADDRESS
          valueFrom: {fieldRef: {fieldPath: {{ .address }}}}
      securityContext: &restricted
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: config, mountPath: /run/weir}
        - {name: template, mountPath: /etc/weir/template, readOnly: true}
  containers:
    - name: weir
      image: {{ $image | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: [{{ ternary "media" "controller" $isNode }}, --config, /run/weir/weir.yaml]
      ports:
        - {name: http, containerPort: {{ .own.port }}, protocol: TCP}
        - {name: cluster, containerPort: {{ .own.clusterPort }}, protocol: TCP}
        {{- if $isNode }}
        - {name: rtc, containerPort: {{ .own.rtcPort }}, protocol: UDP}
        {{- end }}
        {{- if eq .role "media" }}
        {{- with .own.rtcTcpPort }}
        - {name: rtc-tcp, containerPort: {{ . }}, protocol: TCP}
        {{- end }}
        {{- end }}
        {{- if eq .role "sip" }}
        - {name: sip, containerPort: {{ .own.sipPort }}, protocol: TCP}
        {{- with .own.ngPort }}
        - {name: ng, containerPort: {{ . }}, protocol: UDP}
        {{- end }}
        {{- with .own.rtpproxyPort }}
        - {name: rtpproxy, containerPort: {{ . }}, protocol: UDP}
        {{- end }}
        {{- end }}
      # The store has no part in /livez: a process without it goes on.
      livenessProbe:
        httpGet: {path: /livez, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      {{- if eq .role "controller" }}
      # A controller that has been ready stays in the Service while the store is gone: rooms go on, and
      # their clients connect again. A pod that ends leaves the Service by itself.
      startupProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: 300
      readinessProbe:
        httpGet: {path: /livez, port: http}
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: 2
      {{- else }}
      # Participants come by the controllers, and calls by proxies, which know by themselves if a
      # node is there. This holds back upgrades and evictions.
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- end }}
      lifecycle:
        # Proxies take the pod out of their lists before it refuses connections.
        preStop: {exec: {command: [sleep, "5"]}}
      {{- with .own.resources }}
      resources: {{ toJson . }}
      {{- end }}
      securityContext: *restricted
      volumeMounts:
        - {name: config, mountPath: /run/weir, readOnly: true}
        - {name: cluster, mountPath: /etc/weir/cluster, readOnly: true}
        {{- if eq .role "controller" }}
        - {name: keys, mountPath: /etc/weir/keys, readOnly: true}
        {{- end }}
        {{- if $values.secrets.store }}
        - {name: store, mountPath: /etc/weir/store, readOnly: true}
        {{- end }}
  volumes:
    - name: config
      emptyDir: {medium: Memory, sizeLimit: 1Mi}
    - name: template
      secret: {secretName: {{ include "weir.name" .root }}-{{ .role }}-config, defaultMode: 0440}
    - name: cluster
      secret: {secretName: {{ get $values.secrets .role }}, defaultMode: 0440}
    {{- if eq .role "controller" }}
    - name: keys
      secret: {secretName: {{ $values.secrets.keys }}, defaultMode: 0440}
    {{- end }}
    {{- with $values.secrets.store }}
    - name: store
      secret: {secretName: {{ . }}, defaultMode: 0440}
    {{- end }}
{{- end -}}
