"""Metrics of the admin listener, read by a strict parser of OpenMetrics."""

from prometheus_client.openmetrics import parser

from support import named

MEDIA_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Metrics:
    def __init__(self, text):
        self.families = {family.name: family
                         for family in parser.text_string_to_metric_families(text)}
        self.samples = [sample for family in self.families.values() for sample in family.samples]

    def matching(self, name, **labels):
        return [sample for sample in self.samples if sample.name == name
                and all(sample.labels.get(label) == value for label, value in labels.items())]

    def value(self, name, **labels):
        """Returns the sum of the samples with these labels; 0 if there are none."""
        return sum(sample.value for sample in self.matching(name, **labels))


def scrape(place, *fields):
    """`place`: a port of this machine, or the path of a Unix socket."""
    port, address = (place, "127.0.0.1") if isinstance(place, int) else (0, str(place))
    answer = named.fetch(port, "localhost", "/-/metrics", *fields, address=address)
    assert answer.status == 200, answer
    assert answer.field("content-type") == MEDIA_TYPE
    return Metrics(answer.body.decode())
