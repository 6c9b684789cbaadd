#!/usr/bin/python3
"""What `--help` of every command says: placeholders are names, sentences are
short, and every flag means something.

    help_test.py BIN_DIR SOURCE_DIR
"""

import pathlib
import re
import subprocess
import sys
import unittest

BIN = None
SENTENCE_MAX = 100  # Characters.
LINE_MAX = 120
HEADING = re.compile(r"^([A-Z][\w ]*):$")
# A flag or a positional with its placeholder, its default, and what it means,
# which may begin a line below. "REQUIRED" and "..." are CLI11's.
OPTION = re.compile(
    r"^  (?P<names>-[-\w,]+|[\w-]+)(?P<value>( [^ ]+)*?)(  +(?P<meaning>.*))?$")
# Names of things; no types.
PLACEHOLDER = re.compile(
    r"[A-Z]+%?([<>]?=[A-Z]+|:PORT|@TIME)?(=.*)?( \.\.\.| x \d+)?( REQUIRED)?")
TYPES = re.compile(r"\b(TEXT|INT|UINT|FLOAT|BOOLEAN|ENUM)\b")


def help_of(command):
    done = subprocess.run([BIN / "paceline", *command, "--help"], check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout


def sections(text):
    """{heading: its lines}; what stands before the first is under ""."""
    found = {"": []}
    heading = ""
    for line in text.splitlines():
        begins = HEADING.match(line)
        if begins:
            heading = begins[1]
            found[heading] = []
        else:
            found[heading].append(line)
    return found


def options(lines):
    """(names, placeholder, meaning) of each."""
    found = []
    for line in map(str.rstrip, lines):
        if line.startswith("   "):
            # More of the one above.
            names, value, meaning = found.pop()
            found.append((names, value, f"{meaning} {line.strip()}".strip()))
        elif line.startswith("  "):
            match = OPTION.match(line)
            assert match, line
            found.append((match["names"], match["value"].strip(),
                          match["meaning"] or ""))
        elif line:
            break
    return found


def sentences(text):
    return re.split(r"(?<=[.:!?]) +", text)


def walk(command=()):
    """Every command and what its help says."""
    text = help_of(command)
    yield command, text
    for name, value, _ in options(sections(text).get("Subcommands", [])):
        yield from walk((*command, name))


class HelpTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.pages = dict(walk())

    def test_all_commands_are_there(self):
        for command in (("local",), ("compare",), ("reproduce",),
                        ("job", "metrics"), ("worker", "manifest"),
                        ("certificate", "ensure"),
                        ("config", "set-context")):
            self.assertIn(command, self.pages)
        self.assertGreater(len(self.pages), 45)

    def each_option(self):
        for command, text in self.pages.items():
            for heading in ("Positionals", "Options", "Connection"):
                for option in options(sections(text).get(heading, [])):
                    yield " ".join(command), *option

    def test_placeholders_are_names(self):
        for command, names, value, _ in self.each_option():
            with self.subTest(command=command, flag=names):
                self.assertNotRegex(value, TYPES)
                if names.startswith("-") and value:
                    self.assertTrue(PLACEHOLDER.fullmatch(value), value)

    def test_every_flag_means_something(self):
        for command, names, _, meaning in self.each_option():
            if names == "-h,--help":
                continue
            with self.subTest(command=command, flag=names):
                # What it does, in a sentence; a value may begin one.
                self.assertRegex(meaning, r"^([A-Z]|[a-z]+: )")
                self.assertRegex(meaning, r"[.]$")
                self.assertGreaterEqual(len(meaning.split()), 3, meaning)

    def test_defaults_are_told(self):
        """Of a flag with a value: behind the placeholder, or in words."""
        for command, names, value, meaning in self.each_option():
            if not names.startswith("--") or not value:
                continue
            with self.subTest(command=command, flag=names):
                self.assertTrue(
                    "REQUIRED" in value or re.search(r"[A-Z%]=\S", value)
                    or "Default: " in meaning or "May be given again" in meaning,
                    (value, meaning))

    def test_sentences_are_short(self):
        for command, text in self.pages.items():
            for line in text.splitlines():
                self.assertLessEqual(len(line), LINE_MAX, (command, line))
            prose = [(names, meaning) for heading, lines in sections(text).items()
                     if heading in ("Positionals", "Options", "Connection",
                                    "Subcommands")
                     for names, _, meaning in options(lines)]
            # Indented lines below are examples and lists, a line each.
            plain = re.sub(r"\n +.*", "\n\n", text)
            plain = re.sub(r"\n(?=[A-Z]\w+: )", "\n\n", plain)
            prose += [("", re.sub(r"\s+", " ", paragraph))
                      for paragraph in re.split(r"\n\n+", plain)]
            for names, meaning in prose:
                for sentence in sentences(meaning):
                    with self.subTest(command=command, flag=names):
                        self.assertLessEqual(len(sentence), SENTENCE_MAX,
                                             sentence)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
