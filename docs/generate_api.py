#!/usr/bin/python3
"""Makes docs/api.md from the comments of the protos.

    docs/generate_api.py           writes the page
    docs/generate_api.py --check   fails if the page is not what it would write
"""

import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "api.md"
FILES = ["jobs", "cluster", "types", "access"]
ROLES_EXTENSION = 50500
REACH_EXTENSION = 50501
# What a method is for callers whose role is bound to namespaces.
BOUND = {0: "not if bound to namespaces", 1: "in its namespaces, if bound",
         2: "if bound, the part in its namespaces"}
BEHAVIOR_EXTENSION = 1052
BEHAVIORS = {2: "required", 3: "output only", 5: "immutable", 8: "identifier"}

HEAD = """\
# The admin API

Made from the protos by `docs/generate_api.py`; do not edit. Every error has a
`google.rpc.ErrorInfo` with domain `paceline` and, where it applies,
`BadRequest`, `PreconditionFailure`, `QuotaFailure`, `RetryInfo` or
`ResourceInfo` as details. The roles that may call a method follow its name
([security](security.md)), and what a role that is bound to namespaces may do;
`grpc.health.v1` and reflection answer everybody.
"""

SCALARS = {
    descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE: "double",
    descriptor_pb2.FieldDescriptorProto.TYPE_FLOAT: "float",
    descriptor_pb2.FieldDescriptorProto.TYPE_INT64: "int64",
    descriptor_pb2.FieldDescriptorProto.TYPE_UINT64: "uint64",
    descriptor_pb2.FieldDescriptorProto.TYPE_INT32: "int32",
    descriptor_pb2.FieldDescriptorProto.TYPE_FIXED64: "fixed64",
    descriptor_pb2.FieldDescriptorProto.TYPE_BOOL: "bool",
    descriptor_pb2.FieldDescriptorProto.TYPE_STRING: "string",
    descriptor_pb2.FieldDescriptorProto.TYPE_BYTES: "bytes",
    descriptor_pb2.FieldDescriptorProto.TYPE_UINT32: "uint32",
}


def descriptors():
    """The files with their comments, by path."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(
            ["protoc", "--proto_path=.", "--include_imports",
             "--include_source_info", f"--descriptor_set_out={out.name}"]
            + [f"protos/paceline/v1/{name}.proto" for name in FILES],
            cwd=ROOT, check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(
            pathlib.Path(out.name).read_bytes())
    return {file.name: file for file in files.file}


def comments(file):
    """What stands before or behind each element, by its path."""
    found = {}
    for location in file.source_code_info.location:
        text = location.leading_comments + location.trailing_comments
        if text:
            lines = [line[1:] if line.startswith(" ") else line
                     for line in text.rstrip("\n").split("\n")]
            found[tuple(location.path)] = "\n".join(lines).strip("\n")
    return found


def extension(options, number):
    """The values of an enum extension that this program has no class for."""
    values = []
    data = options.SerializeToString()
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
            if key >> 3 == number:
                values.append(value)
        elif key & 7 == 2:
            length = varint()
            if key >> 3 == number:  # Packed.
                end = at + length
                while at < end:
                    values.append(varint())
            at = at + length if key >> 3 != number else at
        else:
            raise ValueError("an option of a kind that is not expected")
    return values


def short(name):
    return name.rsplit(".", 1)[-1]


def type_of(field, maps):
    kinds = descriptor_pb2.FieldDescriptorProto
    if field.type in SCALARS:
        name = SCALARS[field.type]
    else:
        if field.type_name in maps:
            key, value = maps[field.type_name].field
            return f"map<{type_of(key, {})}, {type_of(value, {})}>"
        name = short(field.type_name)
    if field.label == kinds.LABEL_REPEATED:
        return f"repeated {name}"
    return f"optional {name}" if field.proto3_optional else name


def cell(text):
    return text.replace("\n", " ").replace("|", "\\|")


def write_service(out, service, path, notes, roles):
    out.append(f"## {service.name}\n")
    for i, method in enumerate(service.method):
        note = notes.get(path + (2, i), "")
        who = ", ".join(roles[r].lower() for r in
                        sorted(extension(method.options, ROLES_EXTENSION)))
        reach = extension(method.options, REACH_EXTENSION) or [0]
        stream = "stream " if method.server_streaming else ""
        out.append(f"### {method.name}\n")
        out.append(f"`{method.name}({short(method.input_type)})` returns "
                   f"`{stream}{short(method.output_type)}`. Roles: {who} "
                   f"({BOUND[reach[0]]}).\n")
        if note:
            out.append(prose(note) + "\n")


def prose(note):
    """Comment text; its indented lines, codes with their meaning, as a list."""
    lines = []
    for line in note.split("\n"):
        if line.startswith("  ") and line.strip():
            stripped = line.strip()
            if stripped[0].isupper() and stripped.split()[0].strip(",").isupper():
                code, _, meaning = stripped.partition("  ")
                lines.append(f"- `{code}` {meaning.strip()}".rstrip())
            else:
                lines.append(f"  {stripped}")
        else:
            lines.append(line)
    text = []
    for previous, line in zip([""] + lines, lines):
        if line.startswith("- ") and previous and not previous.startswith(
                ("- ", "  ")):
            text.append("")
        text.append(line)
    return "\n".join(text)


def write_message(out, message, path, notes, prefix=""):
    name = prefix + message.name
    out.append(f"### {name}\n")
    if path in notes:
        out.append(prose(notes[path]) + "\n")
    maps = {}
    for nested in message.nested_type:
        if nested.options.map_entry:
            for candidate in (f".paceline.v1.{name}.{nested.name}",):
                maps[candidate] = nested
    if message.field:
        out.append("| Field | Type | |")
        out.append("| --- | --- | --- |")
    for i, field in enumerate(message.field):
        behavior = [BEHAVIORS[b] for b in
                    extension(field.options, BEHAVIOR_EXTENSION)
                    if b in BEHAVIORS]
        note = notes.get(path + (2, i), "")
        words = "; ".join(behavior)
        text = f"*{words}.* {note}" if words else note
        out.append(f"| `{field.name}` | {type_of(field, maps)} | {cell(text)} |")
    if message.field:
        out.append("")
    for i, nested in enumerate(message.enum_type):
        write_enum(out, nested, path + (4, i), notes, f"{name}.")
    for i, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            write_message(out, nested, path + (3, i), notes, f"{name}.")


def write_enum(out, enum, path, notes, prefix=""):
    out.append(f"### {prefix}{enum.name}\n")
    if path in notes:
        out.append(prose(notes[path]) + "\n")
    out.append("| Value | |")
    out.append("| --- | --- |")
    for i, value in enumerate(enum.value):
        note = notes.get(path + (2, i), "")
        out.append(f"| `{value.name}` | {cell(note)} |")
    out.append("")


def page():
    files = descriptors()
    access = files["protos/paceline/v1/access.proto"]
    roles = {value.number: value.name for enum in access.enum_type
             if enum.name == "Role" for value in enum.value}
    out = [HEAD]
    for name in FILES:
        file = files[f"protos/paceline/v1/{name}.proto"]
        notes = comments(file)
        for i, service in enumerate(file.service):
            write_service(out, service, (6, i), notes, roles)
    out.append("## Messages\n")
    for name in FILES:
        file = files[f"protos/paceline/v1/{name}.proto"]
        notes = comments(file)
        for i, message in enumerate(file.message_type):
            write_message(out, message, (4, i), notes)
        for i, enum in enumerate(file.enum_type):
            write_enum(out, enum, (5, i), notes)
    return "\n".join(out).rstrip("\n") + "\n"


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit("docs/api.md is out of step with the protos: run "
                     "docs/generate_api.py")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
