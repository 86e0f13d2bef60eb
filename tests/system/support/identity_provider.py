"""An OpenID provider for one client: it signs tokens, and MinIO fetches its key."""

import base64
import hashlib
import http.server
import json
import subprocess
import threading
import time

from support.authority import openssl
from support.environment import tool

CLIENT = "h2server"


def _text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class IdentityProvider:
    """with IdentityProvider(folder) as provider: the variables of a MinIO that trusts it, the ARN of the
    role that its tokens get, and token()."""

    def __init__(self, folder):
        self._key = folder / "provider.key"
        openssl("genrsa", "-out", self._key, "2048")
        modulus = openssl("rsa", "-in", self._key, "-noout", "-modulus").stdout
        number = bytes.fromhex(modulus.decode().strip().removeprefix("Modulus="))
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "n": _text(number),
               "e": "AQAB"}
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._documents = {
            "/.well-known/openid-configuration": {
                "issuer": self._url, "jwks_uri": f"{self._url}/keys",
                "authorization_endpoint": f"{self._url}/no", "token_endpoint": f"{self._url}/no"},
            "/keys": {"keys": [key]},
        }
        self.variables = {
            "MINIO_IDENTITY_OPENID_CONFIG_URL": f"{self._url}/.well-known/openid-configuration",
            "MINIO_IDENTITY_OPENID_CLIENT_ID": CLIENT,
            "MINIO_IDENTITY_OPENID_ROLE_POLICY": "readwrite",
        }
        self.role = "arn:minio:iam:::role/" + _text(hashlib.sha1(CLIENT.encode()).digest())

    def _handler(provider):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(provider._documents[self.path]).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def token(self):
        now = int(time.time())
        head = {"alg": "RS256", "kid": "one", "typ": "JWT"}
        claims = {"iss": self._url, "aud": CLIENT, "sub": "pod", "iat": now, "exp": now + 3600}
        signed = ".".join(_text(json.dumps(part).encode()) for part in (head, claims))
        signature = subprocess.run([tool("openssl"), "dgst", "-sha256", "-sign", self._key],
                                   input=signed.encode(), check=True, capture_output=True).stdout
        return f"{signed}.{_text(signature)}"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
