"""A certificate authority for tests: certificates with RSA and ECDSA keys, and OCSP responses."""

import datetime
import os
import subprocess

from support.environment import tool

KEYS = {"rsa": ["-newkey", "rsa:2048"],
        "ecdsa": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]}


def openssl(*arguments, **options):
    return subprocess.run([tool("openssl"), *map(str, arguments)], check=True, capture_output=True,
                          stdin=subprocess.DEVNULL, **options)


class Authority:
    """Keeps its files in `folder`. Its certificate is `certificate`."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.certificate, self._key = folder / "ca.crt", folder / "ca.key"
        self._serial = 100
        self._index = ""
        openssl("req", "-x509", *KEYS["ecdsa"], "-nodes", "-days", "100", "-subj", "/CN=authority",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature",
                "-keyout", self._key, "-out", self.certificate)

    def issue(self, stem, *names, kind="ecdsa", days=90):
        """Writes STEM.crt, with the authority's behind it, and STEM.key. Returns their paths."""
        self._serial += 1
        certificate, key = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        request = self.folder / "request"
        openssl("req", "-new", *KEYS[kind], "-nodes", "-subj", f"/CN={names[0]}", "-keyout", key,
                "-out", request)
        extensions = self.folder / "extensions"
        extensions.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names)
                              + "\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key,
                "-set_serial", self._serial, "-days", days, "-extfile", extensions,
                "-out", certificate)
        end = datetime.datetime.utcnow() + datetime.timedelta(days=days)
        self._index += f"V\t{end:%y%m%d%H%M%SZ}\t\t{self._serial:02X}\tunknown\t/CN={self._serial}\n"
        certificate.write_bytes(certificate.read_bytes() + self.certificate.read_bytes())
        return certificate, key

    def respond(self, certificate, target, minutes=60):
        """Writes to `target` that the certificate is good, for so many minutes."""
        index = self.folder / "index"
        index.write_text(self._index)
        request, response = self.folder / "ocsp-request", self.folder / "ocsp-response"
        openssl("ocsp", "-issuer", self.certificate, "-cert", certificate, "-reqout", request,
                "-no_nonce")
        openssl("ocsp", "-index", index, "-CA", self.certificate, "-rsigner", self.certificate,
                "-rkey", self._key, "-reqin", request, "-respout", response, "-nmin", minutes)
        replace(response, target)


def replace(source, target):
    """Puts a copy of `source` in the place of `target` at once, as ACME clients do."""
    unfinished = target.with_name(target.name + ".new")
    unfinished.write_bytes(source.read_bytes())
    os.replace(unfinished, target)
