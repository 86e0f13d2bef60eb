"""Self-signed certificates for host names."""

import subprocess

from support.environment import tool


def make_certificate(folder, stem, *names):
    """Makes STEM.crt and STEM.key in the folder. Returns their paths."""
    certificate, key = folder / f"{stem}.crt", folder / f"{stem}.key"
    subprocess.run(
        [tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", f"/CN={stem}",
         "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in names),
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    return certificate, key
