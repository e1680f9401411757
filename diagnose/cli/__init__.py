"""Console entry: arguments in, exit code out. Only the standard library is imported up front.

typer parses and nothing more: a command function returns a job (a callable that gives the exit
code), which runs here, outside typer. Otherwise typer would turn an uncaught exception and a
closed pipe into exit code 1, which means "found".
"""

from __future__ import annotations

import contextlib
import errno
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType, TracebackType

from diagnose.cli import codes
from diagnose.errors import DiagnoseError, OutputError, SignatureErrors


class Terminated(BaseException):
    """SIGTERM arrived. Not an Exception, so that nobody who cleans up after a bad file catches it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: `sys.argv[1:]`) and return the exit code; never raises."""
    args = list(sys.argv[1:] if argv is None else argv)
    debug = _take(args, "--debug")
    version = _take(args, "--version", "-V")
    try:
        with _sigterm_raises():
            return _version() if version else _run(args)
    except BaseException as exc:
        return _code_of(exc, debug)


def _run(args: list[str]) -> int:
    from diagnose.cli import app

    try:
        job = app.parse(args)
    except OSError as exc:  # a help page that could not be printed
        if exc.errno == errno.EPIPE:
            raise
        raise OutputError(f"stdout cannot be written: {exc.strerror}") from exc
    code = job if isinstance(job, int) else job()
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


def _version() -> int:
    from diagnose import __version__
    from diagnose.cli import output

    output.to_stdout(f"diagnose {__version__}")
    return codes.OK


def _take(args: list[str], *flags: str) -> bool:
    """Remove a flag that every command takes from before a `--`; whether it was there."""
    end = args.index("--") if "--" in args else len(args)
    rest = [a for a in args[:end] if a not in flags]
    found = len(rest) < end
    args[:end] = rest
    return found


def _code_of(exc: BaseException, debug: bool) -> int:
    from diagnose.cli import streams

    if _is_broken_pipe(exc):
        streams.discard(sys.stdout)
        return codes.BROKEN_PIPE
    if isinstance(exc, Terminated):
        return codes.TERMINATED
    if isinstance(exc, KeyboardInterrupt):
        return codes.INTERRUPTED
    if isinstance(exc, SystemExit):  # shell completion ends this way
        return exc.code if isinstance(exc.code, int) else codes.OK if exc.code is None else codes.USAGE
    if debug:
        _print_traceback(exc)
    if isinstance(exc, SignatureErrors):
        for fault in exc.faults:
            streams.error(str(fault), fault.hint, excerpt=getattr(fault, "excerpt", ""))
        return exc.exit_code
    if isinstance(exc, DiagnoseError):
        streams.error(str(exc), exc.hint)
        if isinstance(exc, OutputError):
            streams.discard(sys.stdout)
        return exc.exit_code
    # Everything else is a fault of the program, also a panic of native code, which is no Exception.
    words = " ".join(str(exc).split())
    streams.say(f"internal error: {type(exc).__name__}{': ' * bool(words)}{words[:300]}")
    if not debug:
        streams.say("  run with --debug for the traceback")
    return codes.INTERNAL


def _is_broken_pipe(exc: BaseException) -> bool:
    """A closed pipe, also where typer has made a SystemExit of it (its context is the OSError)."""
    if isinstance(exc, SystemExit) and exc.__context__ is not None:
        exc = exc.__context__
    return isinstance(exc, OSError) and exc.errno == errno.EPIPE


def _print_traceback(exc: BaseException) -> None:
    import traceback

    from diagnose.cli import streams

    trace: TracebackType | None = exc.__traceback__
    streams.say("".join(traceback.format_exception(type(exc), exc, trace)).rstrip())


@contextlib.contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Turn SIGTERM into `Terminated`, so that temporary files are removed on the way out."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_signal: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)
