{{- define "h2server.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "h2server.selector" -}}
app.kubernetes.io/name: h2server
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "h2server.labels" -}}
{{ include "h2server.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "h2server.port" -}}
{{ ternary "https" "http" .Values.tls.enabled }}
{{- end }}

{{- define "h2server.config" -}}
threads = {{ .Values.config.threads | toString | quote }}
admin = "0.0.0.0:9000"
admin-token = "${ADMIN_TOKEN}"
shutdown-delay = "{{ .Values.shutdownDelaySeconds }}s"
drain-timeout = "{{ .Values.drainTimeoutSeconds }}s"
{{- if or .Values.proxies.protocol (not .Values.tls.enabled) }}
trusted-proxy = {{ toJson .Values.proxies.trusted }}
connections-per-address = {{ int .Values.proxies.connectionsPerAddress }}
{{- end }}
access-log = "-"
log-format = "json"
{{- if .Values.tls.enabled }}
ticket-key = [
{{- range .Values.tls.ticketKeys.files }}
  "/etc/h2server-ticket-keys/{{ . }}",
{{- end }}
]
{{- end }}
{{- with .Values.config.options }}
{{ . | trim }}
{{- end }}

[[listener]]
{{- if .Values.tls.enabled }}
port = 8443
{{- else }}
port = 8080
h2c = true
{{- end }}
{{- if .Values.proxies.protocol }}
proxy-protocol = true
{{- end }}

[[site]]
{{- if .Values.tls.enabled }}
cert = "/etc/h2server-tls/tls.crt"
key = "/etc/h2server-tls/tls.key"
{{- end }}
store = {{ .Values.store.place | quote }}
{{- with .Values.store.endpoint }}
s3-endpoint = {{ . | quote }}
{{- end }}
{{- with .Values.store.region }}
s3-region = {{ . | quote }}
{{- end }}
{{- with .Values.store.style }}
s3-style = {{ . | quote }}
{{- end }}
{{- with .Values.store.cacheGiB }}
store-cache = "/var/cache/h2server/objects"
store-cache-size = "{{ int . }}GiB"
{{- end }}
{{- with .Values.config.site }}
{{ . | trim }}
{{- end }}
{{- end }}
