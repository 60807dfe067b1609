"""What ends a run, with what the user can do about it."""


class Trouble(Exception):
    """A job or a file failed: exit status 1."""


class BadOption(Exception):
    """Exit status 2."""
