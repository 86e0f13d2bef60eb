"""A response, independent of the protocol."""

import dataclasses


class Broken(AssertionError):
    """The response or the connection ended early."""


@dataclasses.dataclass
class Answer:
    status: int
    fields: list  # of (name in lower case, value)
    body: bytes = b""

    def all(self, name):
        return [value for field, value in self.fields if field == name]

    def field(self, name):
        """Returns the field's value, or None if it is absent. Fails if the field is repeated."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} comes {len(values)} times"
        return values[0] if values else None
