"""lab/report: writes the report of a folder of results again."""

import argparse
import pathlib

from harness import experiments, report, results


def main():
    parser = argparse.ArgumentParser(prog="lab/report", description=__doc__.partition(": ")[2])
    parser.add_argument("results", type=pathlib.Path, help="a folder with results.json.xz")
    parser.add_argument("--out", type=pathlib.Path, help="write into this folder instead")
    options = parser.parse_args()
    measured = results.load(options.results)
    print(report.write(measured, options.out or options.results, experiments.ALL))


if __name__ == "__main__":
    main()
