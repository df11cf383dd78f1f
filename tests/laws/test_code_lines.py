"""The script that counts lines of code counts them rightly."""

from __future__ import annotations

from pathlib import Path

from laws.code_lines import code_lines, parts

SAMPLE = '''"""What it is.

More of it.
"""

# A comment.
import os  # code, and a comment

LIMIT = 3
"""A text below an attribute."""


class Thing:
    """Documented."""

    name = """two
lines"""

    def double(self, values):
        """Documented."""
        return [
            value * 2

            for value in values  # the blank line above is none
        ]


def stop(): "no code"; os.abort()
'''


def test_lines_with_code_are_counted(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "part").mkdir(parents=True)
    (package / "top.py").write_text("import os\n\n\n# nothing\n")
    (package / "part" / "a.py").write_text(SAMPLE)
    (package / "part" / "b.py").write_text("X = 1\n")
    # import, LIMIT, class, name (2), def, return, value, for, ], and the last line, half of which is code.
    assert code_lines(SAMPLE) == 11
    found = {part.name: part for part in parts(package)}
    assert (found["part"].code, found["part"].modules, found["part"].longest) == (12, 2, "part/a.py")
    assert found["part"].length == SAMPLE.count("\n")
    assert (found["(modules)"].code, found["(modules)"].modules) == (1, 1)
