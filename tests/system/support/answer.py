"""A response, whichever protocol brought it."""

import dataclasses


class Broken(AssertionError):
    """The response, or the connection, ended before it was whole."""


@dataclasses.dataclass
class Answer:
    status: int
    fields: list  # of (name in lower case, value)
    body: bytes = b""

    def all(self, name):
        return [value for field, value in self.fields if field == name]

    def field(self, name):
        """The value of the field, None when it is absent; never twice."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} comes {len(values)} times"
        return values[0] if values else None
