"""The few errors that a user can cause, each with its place and the exit code it leads to.

Every message has three parts: what is wrong, where it is, and what to do about it (`hint`).
Anything that is not a `DiagnoseError` is a fault of the program itself (exit code 70).
"""

from __future__ import annotations


class DiagnoseError(Exception):
    """Base of all errors shown to the user as one line and a hint, never as a traceback."""

    exit_code = 2

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class UsageError(DiagnoseError):
    """Wrong arguments or options."""


class ConfigError(DiagnoseError):
    """A configuration file or environment variable that cannot be used."""


class SignatureError(DiagnoseError):
    """One fault in one signature file; `where` is `file:line: step "id", key`."""


class SignatureErrors(DiagnoseError):
    """All faults of all signature files, collected before giving up."""

    def __init__(self, faults: list[SignatureError]) -> None:
        super().__init__("\n".join(str(f) for f in faults))
        self.faults = faults


class InputError(DiagnoseError):
    """An input that cannot be read as what it is (or is nothing we know). Other inputs go on."""

    exit_code = 3


class OutputError(DiagnoseError):
    """The report could not be written."""

    exit_code = 74
