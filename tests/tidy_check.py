"""Checks of the code itself: sizes, names of tests, banned calls.

Prints every finding and exits with 1 if there is one.
"""

import pathlib
import re
import subprocess
import sys

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 60
CLASS_LINES_MAX = 120

# Larger classes that are to be split. Remove whom you split: a class that fits
# is a finding here.
LARGE_CLASSES = {
    "Backend", "JobMetrics", "JobRun", "JobShard", "Model", "RunCourse",
    "SampleDealer", "ShardMap", "SyncCore", "VirtualCluster",
}

# Pure folders: no clock, no chance, no threads, no input or output.
PURE = ("services/coordinator/sync/", "services/coordinator/run/course/")
PURE_BANNED = re.compile(
    r"absl::Now\(|Clock::Real|_clock::|SleepFor|sleep_for|\brand\(|random_device"
    r"|BitGen|std::thread|absl::Mutex|std::mutex|std::cout|std::cerr|printf\("
    r"|fstream|grpc"
)
TEST_BANNED = re.compile(r"sleep_for|SleepFor|usleep\(|\bsleep\(")
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
FORBIDDEN_NAMES = re.compile(r"\b(class|struct)\s+\w*(Manager|Helper|Util)\b")

# What can stand between code and its braces: comments, strings, characters.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                      r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'|^\s*#.*?(?<!\\)$",
                      re.S | re.M)
SCOPE = re.compile(r"^\s*(inline\s+)?(namespace\b|extern\b|(template\s*<.*>\s*)?"
                   r"(class|struct|union|enum)\b)", re.S)


def files(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], check=True,
                            capture_output=True, text=True).stdout
    paths = [pathlib.Path(line) for line in listed.splitlines()]
    return [path for path in paths if path.exists()]  # Deleted ones are listed.


def functions(text):
    """Yields (first line, number of lines) of every function body."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    code = NOT_CODE.sub(blank, text)
    scopes = []  # Of the open braces: is it a namespace or class?
    head = 0     # Where the text before the next brace begins.
    outermost = None
    for at, char in enumerate(code):
        if char == "{":
            inside = all(scopes)
            is_scope = bool(SCOPE.match(code[head:at]))
            if inside and not is_scope and "(" in code[head:at]:
                begin = head + len(code[head:at]) - len(code[head:at].lstrip())
                outermost = (len(scopes), code.count("\n", 0, begin) + 1)
            scopes.append(is_scope)
            head = at + 1
        elif char == "}":
            if scopes:
                scopes.pop()
            if outermost and len(scopes) == outermost[0]:
                last = code.count("\n", 0, at) + 1
                yield outermost[1], last - outermost[1] + 1
                outermost = None
            head = at + 1
        elif char == ";":
            head = at + 1


def classes(text):
    """Yields (name, first line, lines) of every class. A member function that
    is defined inside counts as one line."""
    bodies = list(functions(text))
    code = NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for match in re.finditer(r"\b(?:class|struct)\s+(\w+)[^;{}()<>=]*\{", code):
        depth = 0
        for at in range(match.end() - 1, len(code)):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            if depth == 0:
                first = code.count("\n", 0, match.start()) + 1
                last = code.count("\n", 0, at) + 1
                inside = sum(length - 1 for begin, length in bodies
                             if first < begin <= last)
                yield match.group(1), first, last - first + 1 - inside
                break


def check_classes():
    large = set()
    for path in files("common/*.h", "gpu/*.h", "services/*.h", "*.cuh",
                      "common/*.cc", "gpu/*.cc", "services/*.cc"):
        for name, first, length in classes(path.read_text()):
            if length <= CLASS_LINES_MAX:
                continue
            large.add(name)
            if name not in LARGE_CLASSES:
                yield (f"{path}:{first}: {name} is declared in {length} lines, "
                       f"more than {CLASS_LINES_MAX}")
    for name in sorted(LARGE_CLASSES - large):
        yield (f"tests/tidy_check.py: {name} fits its limit now: remove it "
               "from LARGE_CLASSES")


def check_file(path):
    text = path.read_text()
    lines = text.splitlines()
    if len(lines) > FILE_LINES_MAX:
        yield f"{path}: {len(lines)} lines, more than {FILE_LINES_MAX}"
    if path.suffix in (".cc", ".h", ".cu", ".cuh"):
        for first, length in functions(text):
            if length > FUNCTION_LINES_MAX:
                yield (f"{path}:{first}: a function of {length} lines, more "
                       f"than {FUNCTION_LINES_MAX}")
    for number, line in enumerate(lines, 1):
        if path.name == "tidy_check.py":
            continue
        code = line.split("//")[0]
        if MARKS.search(line):
            yield f"{path}:{number}: an unfinished mark"
        if FORBIDDEN_NAMES.search(code):
            yield f"{path}:{number}: a name that says nothing"
        if str(path).startswith(PURE) and PURE_BANNED.search(code):
            yield f"{path}:{number}: not pure: {line.strip()}"
        if str(path).startswith("tests/") and TEST_BANNED.search(code):
            yield f"{path}:{number}: a sleep in a test"


def check_tests_are_built():
    lists = "\n".join(p.read_text() for p in
                      files("*CMakeLists.txt", "*.cmake"))
    for path in files("tests/*_test.cc", "tests/*_bench.cc"):
        if path.name not in lists:
            yield f"{path}: named in no CMakeLists.txt"


def main():
    findings = [*check_tests_are_built(), *check_classes()]
    for path in files("*.cc", "*.h", "*.cu", "*.cuh", "*.proto", "*.py",
                      "*.sh", "*.cmake", "*CMakeLists.txt"):
        findings.extend(check_file(path))
    print("\n".join(findings) or "tidy")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
