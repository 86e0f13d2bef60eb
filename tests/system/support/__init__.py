"""Shared by the system tests: the program under test, its clients, and ways to inspect both."""
