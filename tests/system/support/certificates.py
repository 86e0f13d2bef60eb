"""Self-signed certificates for host names."""

import datetime
import pathlib
import subprocess
import tempfile

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


def sign_again(key, certificate, days, subject="/CN=localhost"):
    """Makes a self-signed certificate of a key that ends in so many days, which may be negative:
    `openssl x509 -days` takes no negative ones since OpenSSL 3.5."""
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    start = min(end, datetime.datetime.now(datetime.timezone.utc)) - datetime.timedelta(days=1)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "index").touch()
        (place / "ca.cnf").write_text(
            f"[ca]\ndefault_ca = own\n[own]\ndatabase = {place}/index\nrand_serial = yes\n"
            f"new_certs_dir = {place}\ndefault_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n")
        subprocess.run([tool("openssl"), "req", "-new", "-key", key, "-subj", subject, "-out",
                        place / "request"], check=True, capture_output=True)
        subprocess.run([tool("openssl"), "ca", "-selfsign", "-batch", "-notext", "-config",
                        place / "ca.cnf", "-keyfile", key, "-in", place / "request",
                        "-startdate", f"{start:%Y%m%d%H%M%SZ}", "-enddate", f"{end:%Y%m%d%H%M%SZ}",
                        "-out", certificate], check=True, capture_output=True)
