"""What is shown to a person who waits."""

import io
import sys
import time

from simengine.progress import Progress, note_if_long


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_shows_on_a_terminal_only():
    screen, file = Terminal(), io.StringIO()
    for stream in (screen, file):
        with Progress(4, "work", stream) as bar:
            bar.advance(1)
    assert "work [#######-----------------------]  25%" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")
    assert file.getvalue() == ""


def test_progress_estimates_what_is_left():
    bar = Progress(10, "work", io.StringIO())
    bar.advance(4)
    assert bar.text(elapsed=8.0).endswith("40%, 12 s left")


def wait_beside_a_note(seconds, stream):
    with note_if_long("compiling", stream, patience=0.05):
        time.sleep(seconds)
    return stream.getvalue()


def test_a_note_is_written_once_where_the_work_is_long():
    assert wait_beside_a_note(0.4, Terminal()) == "compiling\n"


def test_no_note_where_the_work_is_short_or_nobody_looks():
    screen = Terminal()
    assert wait_beside_a_note(0.0, screen) == ""
    time.sleep(0.2)
    assert screen.getvalue() == ""
    assert wait_beside_a_note(0.4, io.StringIO()) == ""


def test_an_interactive_session_is_read_by_a_person(monkeypatch):
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert wait_beside_a_note(0.4, errors) == "compiling\n"


def test_a_closed_or_missing_error_output_harms_no_work(monkeypatch, capsys):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    for errors in (closed, None):
        monkeypatch.setattr(sys, "stderr", errors)
        with note_if_long("compiling", patience=0.01), Progress(2, "work") as bar:
            time.sleep(0.1)
            bar.advance(1)
    assert capsys.readouterr().out == ""
