"""The lab: starts servers and load, measures, and writes reports."""
