"""Servers that differ from those of servers.py in one thing."""

import dataclasses

from harness.processes import Failure


def edited(server, config, edits):
    """Returns a peer with another configuration: in its file `config` each text is replaced.

    `edits` is {text: (Setting) -> text instead}. A text that is not in the file is a Failure.
    """

    def command(binary, setting):
        words = server.command(binary, setting)
        path = setting.work / config
        text = path.read_text()
        for old, new in edits.items():
            if old not in text:
                raise Failure(f"{config} has no {old!r}")
            text = text.replace(old, new(setting))
        path.write_text(text)
        return words

    return dataclasses.replace(server, command=command)


def with_certificate(server, certificate, key):
    """Returns the server with another certificate, when it speaks TLS."""

    def command(binary, setting):
        return server.command(
            binary, dataclasses.replace(setting, certificate=certificate, key=key))

    return dataclasses.replace(server, command=command)
