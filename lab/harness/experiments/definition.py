"""The parts of an experiment."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Definition:
    """An experiment. `cells` takes the Lab, `findings` takes a results.Experiment."""

    name: str
    title: str
    question: str
    cells: object
    figures: list
    findings: object
