#!/usr/bin/env bash
# scripts/kubernetes/schemas.sh OUTPUT: makes the JSON schemas of Kubernetes 1.37 and of the custom resources
# that the manifests use. $GO: the Go to download these with.
set -euo pipefail
output=$1
here=$(dirname "$0")
python=python3
if [[ -x /usr/bin/python3 ]]; then python=/usr/bin/python3; fi  # python3-yaml belongs to Debian's
gateway=sigs.k8s.io/gateway-api@v1.5.1
cert_manager=github.com/cert-manager/cert-manager@v1.21.2
prometheus=github.com/prometheus-operator/prometheus-operator@v0.85.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work" kubernetes-validate==1.37.0
unzip -q "$work/kubernetes_validate-1.37.0-py3-none-any.whl" -d "$work"
"$GO" mod download "$gateway" "$cert_manager" "$prometheus"
modules=$("$GO" env GOMODCACHE)
"$python" "$here/schemas.py" "$output" \
  "$work/kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict" \
  "$modules/$gateway/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml" \
  "$modules/$cert_manager/deploy/crds/cert-manager.io_certificates.yaml" \
  "$modules/$prometheus/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
