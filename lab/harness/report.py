"""The report: one HTML file without links to elsewhere, its plots as files, and all runs as CSV."""


def write(results, folder, definitions):
    """Writes report.html, runs.csv and plots/*.svg into `folder`; the path of report.html.

    `definitions` is {experiment's name: object with .title, .question, .figures (of plots.py) and
    .findings, a function of the Experiment that returns a list of Finding}. An experiment without
    one is shown as a table of all it measured.
    """
    raise NotImplementedError
