"""Firefox without a window, driven by its own remote protocol (Marionette), for there is no driver
of it in Debian."""

import json
import os
import socket
import subprocess

from support.environment import LAST_RESORT_S, tool
from support.waiting import wait_until

PREFERENCES = {
    "marionette.port": 0,  # any free one, which it writes to a file of the profile
    "network.proxy.type": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.enabled": False,
    "browser.startup.page": 0,
    "browser.shell.checkDefaultBrowser": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}


class Firefox:
    """with Firefox(folder) as firefox: a new profile in the folder, which any certificate suits."""

    def __init__(self, folder):
        self._profile = folder / "firefox"
        self._process = None
        self._socket = None
        self._messages = 0

    def __enter__(self):
        self._profile.mkdir()
        (self._profile / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in PREFERENCES.items()))
        with open(self._profile / "log", "wb") as log:
            self._process = subprocess.Popen(
                [tool("firefox-esr"), "--headless", "--no-remote", "--marionette", "--profile",
                 self._profile], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "HOME": str(self._profile)})
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _connect(self):
        port = self._profile / "MarionetteActivePort"
        wait_until(lambda: port.exists() and port.read_text() or self._process.poll() is not None,
                   "Firefox listens")
        assert self._process.poll() is None, (self._profile / "log").read_text()
        self._socket = socket.create_connection(("127.0.0.1", int(port.read_text())),
                                                timeout=LAST_RESORT_S)
        self._receive()  # its greeting
        # A page that is a film is never loaded as a whole: see open().
        self.command("WebDriver:NewSession", acceptInsecureCerts=True, pageLoadStrategy="none")

    def __exit__(self, *_):
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=LAST_RESORT_S)

    def command(self, name, **parameters):
        """Returns the result. Fails if it is an error."""
        self._messages += 1
        message = json.dumps([0, self._messages, name, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, result = self._receive()
        assert number == self._messages and error is None, error
        return result

    def _receive(self):
        """A message is its length, a colon, and JSON."""
        length = b""
        while not length.endswith(b":"):
            length += self._some(1)
        left, pieces = int(length[:-1]), []
        while left > 0:
            pieces.append(self._some(left))
            left -= len(pieces[-1])
        return json.loads(b"".join(pieces))

    def _some(self, most):
        piece = self._socket.recv(most)
        assert piece, "Firefox has ended"
        return piece

    def open(self, url):
        """Returns when the page can be used."""
        self.command("WebDriver:Navigate", url=url)
        ready = "return location.href === arguments[0] && document.readyState !== 'loading'"
        wait_until(lambda: self.run(ready, url), f"Firefox opens {url}")

    def run(self, script, *arguments):
        """Runs a function's body in the page, and awaits its promise. Returns its result."""
        return self.command("WebDriver:ExecuteScript", script=script, args=list(arguments),
                            scriptTimeout=60_000)["value"]
