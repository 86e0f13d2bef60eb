"""What an experiment is made of."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Definition:
    """An experiment. `cells` is a function of the Lab, `findings` one of a results.Experiment."""

    name: str
    title: str
    question: str
    cells: object
    figures: list
    findings: object
