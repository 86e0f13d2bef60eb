"""What the system tests share: the program under test, its clients, and how to look at both."""
