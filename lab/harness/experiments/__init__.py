"""The experiments: their questions, cells, figures and findings."""

import importlib

_NAMES = ["stages", "threads", "peers", "schemes", "connections", "sizes", "bodies", "pages",
          "compression", "handshakes", "engines", "uploads", "receiving", "stores", "idle",
          "balance", "latency", "library", "events", "observing", "reload", "breakdown"]

# {name: Definition}, in the order of the report.
ALL = {
    name: importlib.import_module(f"harness.experiments.{name}").DEFINITION for name in _NAMES
}
