"""The lab: what starts servers and load, measures, and reports."""
